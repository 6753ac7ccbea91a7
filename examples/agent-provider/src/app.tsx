import { PlusOutlined } from '@ant-design/icons';
import { Button, Layout, Switch, Tabs } from 'antd';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useConnection, useXChat } from 'runsocket/react';
import { AgUiPanel } from './ag-ui-panel.tsx';
import { client, createInput, dropConnection, provider } from './agent.ts';
import { Composer } from './composer.tsx';
import { ConnectionBadge } from './connection-badge.tsx';
import { Conversation } from './conversation.tsx';
import { useConversations } from './conversations.ts';
import { Welcome } from './welcome.tsx';

export function App() {
  const conversations = useConversations();
  const key = conversations.active;
  const chat = useXChat({ provider, conversationKey: key });
  const connection = useConnection(client);
  const [showsBoth, setShowsBoth] = useBoth();
  const field = useRef<HTMLTextAreaElement>(null);
  const { isRequesting, abort, agentState } = chat;
  const isConnected = connection.status === 'open';
  const isAsked = Object.values(agentState.approvals).some(({ status }) => status === 'waiting');
  const focusField = useCallback(() => field.current?.focus(), []);

  // The page is connected for as long as it is open, not only while an answer comes.
  useEffect(() => client.hold(), []);

  useEffect(() => {
    document.title = `${isAsked ? 'Your approval is needed: ' : isRequesting ? 'Answering… ' : ''}runsocket`;
  }, [isAsked, isRequesting]);

  useEffect(() => {
    if (!isRequesting) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return;
      abort();
      focusField();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isRequesting, abort, focusField]);

  function ask(question: string) {
    conversations.name(key, question);
    chat.onRequest(createInput(question));
    focusField();
  }

  function stop() {
    abort();
    focusField();
  }

  function reconnect() {
    client.reconnect();
    focusField();
  }

  return (
    <Layout className="page">
      <a className="skip" href="#question">
        Skip to the question field
      </a>
      <header className="bar">
        <h1>
          runsocket <span>with Ant Design X</span>
        </h1>
        <ConnectionBadge connection={connection} state={chat.connectionState} onRetry={reconnect} />
        <div className="bar-actions">
          <label className="switch" htmlFor="both">
            <Switch id="both" size="small" checked={showsBoth} onChange={setShowsBoth} /> AG-UI
            thread
          </label>
          <Button
            // Not `disabled`: that would take the focus away from who just pressed it.
            aria-disabled={!isConnected}
            onClick={() => isConnected && dropConnection()}
          >
            Drop connection
          </Button>
        </div>
      </header>
      <nav aria-label="Conversations">
        <Tabs
          size="small"
          activeKey={key}
          onChange={conversations.select}
          items={conversations.all.map(({ key, title = 'Untitled' }) => ({
            key,
            label: <span className="tab">{title}</span>,
          }))}
          tabBarExtraContent={
            <Button
              size="small"
              icon={<PlusOutlined />}
              aria-label="New conversation"
              onClick={conversations.open}
            >
              New
            </Button>
          }
        />
      </nav>
      <div className="panels">
        <main>
          <Conversation
            key={key}
            sessionId={key}
            chat={chat}
            isConnected={isConnected}
            welcome={<Welcome onAsk={ask} />}
            onDone={focusField}
          />
          <Composer field={field} isRequesting={isRequesting} onAsk={ask} onStop={stop} />
        </main>
        {showsBoth && <AgUiPanel sessionId={key} />}
      </div>
      <p className="hidden" role="status">
        {isAsked ? 'The agent asks for your approval.' : isRequesting && 'The agent is answering.'}
      </p>
    </Layout>
  );
}

/** Whether the AG-UI thread is shown beside the conversation: `?both` in the address. */
function useBoth() {
  const [showsBoth, setShowsBoth] = useState(() =>
    new URLSearchParams(location.search).has('both'),
  );
  function change(next: boolean) {
    setShowsBoth(next);
    const url = new URL(location.href);
    if (next) url.searchParams.set('both', '');
    else url.searchParams.delete('both');
    history.replaceState(history.state, '', url);
  }
  return [showsBoth, change] as const;
}
