import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        // The example servers import the package by its name; here they get the sources.
        resolve: {
          alias: {
            'runsocket/server': `${import.meta.dirname}/src/server/index.ts`,
            'runsocket/ag-kit': `${import.meta.dirname}/src/ag-kit/index.ts`,
          },
        },
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
      {
        // The oldest React that is supported, from a workspace of its own.
        resolve: {
          alias: [
            {
              find: /^(react|react-dom)(?=$|\/)/,
              replacement: `${import.meta.dirname}/test/react/react-18/node_modules/$1`,
            },
          ],
        },
        test: {
          name: 'react-18',
          environment: 'jsdom',
          include: ['test/react/{server-rendering,strict-mode,use-x-chat-strict-mode}.test.tsx'],
          env: { REACT: '18.0.0' },
          testTimeout: 20_000,
        },
      },
    ],
  },
});
