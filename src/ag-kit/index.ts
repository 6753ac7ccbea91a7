export {
  type AgKitRuns,
  type AgKitRunsOptions,
  agKitRuns,
} from './ag-kit-runs.ts';
export {
  type AgKitStreamEvent,
  type AgKitToAgUi,
  type AgKitToAgUiOptions,
  agKitToAgUi,
} from './ag-kit-to-ag-ui.ts';
export { type AgUiToAgKit, agUiToAgKit } from './ag-ui-to-ag-kit.ts';
export {
  assistantMessageSchema,
  clientMessageSchema,
  sendMessageEventSchema,
  sendMessageInputSchema,
  systemMessageSchema,
  toolMessageSchema,
  toolSchema,
  userMessageSchema,
} from './schemas.ts';
export {
  fromSendMessageInput,
  type SendMessageInputOptions,
  toSendMessageInput,
} from './send-message-input.ts';
export type {
  AssistantMessage,
  ClientMessage,
  SendMessageEvent,
  SendMessageInput,
  SystemMessage,
  Tool,
  ToolMessage,
  UserMessage,
} from './types.ts';
