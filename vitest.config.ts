import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'node',
          environment: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/dist/**', 'test/react/**'],
          typecheck: {
            enabled: true,
            include: ['test/types/*.test-d.ts'],
            tsconfig: './tsconfig.json',
          },
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'react',
          environment: 'jsdom',
          include: ['test/react/**/*.test.{ts,tsx}'],
          testTimeout: 20_000,
        },
      },
    ],
  },
});
