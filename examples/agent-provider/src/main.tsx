import { XProvider } from '@ant-design/x';
import { theme } from 'antd';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { useMedia } from './use-media.ts';
import './styles.css';

function Page() {
  const isDark = useMedia('(prefers-color-scheme: dark)');
  const isStill = useMedia('(prefers-reduced-motion: reduce)');
  return (
    <XProvider
      theme={{
        algorithm: isDark ? theme.darkAlgorithm : theme.defaultAlgorithm,
        token: {
          motion: !isStill,
          borderRadius: 10,
          // The default is too pale to read.
          colorTextPlaceholder: isDark ? '#9a9a9a' : '#6b6b6b',
          ...(isDark && { colorLink: '#4096ff' }),
        },
        // As text on a dark ground, the default is too dark to read.
        components: { Tabs: isDark ? { itemSelectedColor: '#4096ff' } : {} },
      }}
    >
      <App />
    </XProvider>
  );
}

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
