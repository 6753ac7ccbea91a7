import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const { PORT = '8787', HOST = '127.0.0.1' } = process.env;

export default defineConfig({
  base: './',
  plugins: [react()],
  // Ant Design is most of the page, and comes at once.
  build: { chunkSizeWarningLimit: 1500 },
  // `npm run dev` here, and `npm start` in ../server beside it, with the same `PORT`.
  server: { proxy: { '/agent': { target: `http://${HOST}:${PORT}`, ws: true } } },
});
