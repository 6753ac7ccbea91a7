import { defineConfig } from 'vitest/config';

// Tests of what was built and of the pages, in a browser: they need `npm run build` first.
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'dist', include: ['test/dist/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          fileParallelism: false,
          // A real browser beside other work may miss a moment. What needed it is printed at the end.
          retry: 1,
        },
      },
    ],
  },
});
