/** The fields of an object that has just been made, without those that are undefined. */
export function defined<T extends object>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  for (const key in fields) if (fields[key] === undefined) delete fields[key];
  return fields as T;
}
