/** One rule taken out of the sources, and the tests that notice. */
export interface Mutant {
  /** How `--only` calls it. */
  readonly name: string;
  /** What holds no more. */
  readonly rule: string;
  readonly file: string;
  /** A text that occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Each is enough: the file and the title of a test, as far as its source has it in one piece. */
  readonly killers: readonly (readonly [file: string, title: string])[];
  /** The program without which these tests are skipped. */
  readonly needs?: 'redis-server';
}
