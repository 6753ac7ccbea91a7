import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: './',
  plugins: [react()],
  // `npm run dev` here, and `npm start` in ../server beside it.
  server: { proxy: { '/agent': { target: 'http://127.0.0.1:8787', ws: true } } },
});
