'use client';

export { type UseAgUiAgentOptions, useAgUiAgent } from './use-ag-ui-agent.ts';
export { useConnection } from './use-connection.ts';
export { type UseXChatResult, useXChat } from './use-x-chat.ts';
