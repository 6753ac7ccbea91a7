import { RunSocketError } from '../internal/errors.ts';
import type { AgUiTool } from './input.ts';

interface SchemaObject {
  readonly jsonSchema?: { input(options: { readonly target: string }): unknown };
}

/**
 * Tools as they can be sent and stored: a schema object as `parameters` (of zod 4, ArkType and
 * others, by Standard JSON Schema) becomes its JSON Schema.
 *
 * Throws `invalid-argument` for a schema object that cannot tell it, such as one of zod 3.
 */
export function toPlainTools(tools: readonly AgUiTool[]): AgUiTool[] {
  return tools.map((tool) => {
    const standard: SchemaObject | undefined = Object(tool.parameters)['~standard'];
    if (!standard) return tool;
    if (standard.jsonSchema) {
      return { ...tool, parameters: standard.jsonSchema.input({ target: 'draft-2020-12' }) };
    }
    throw new RunSocketError(
      'invalid-argument',
      `Tool ${tool.name}: pass JSON Schema, as of zod 4's z.toJSONSchema().`,
    );
  });
}
