import * as z from 'zod';
import type {
  AssistantMessage,
  ClientMessage,
  SendMessageEvent,
  SendMessageInput,
  SystemMessage,
  Tool,
  ToolMessage,
  UserMessage,
} from './types.ts';

// Each schema is made by a pure call of its own, so that a bundle without it is without zod. Zod 4
// wants keys that hold anything to be there, zod 3 does not: `optional()` makes them agree.

/** Checks a {@link SystemMessage}. */
export const systemMessageSchema: z.ZodType<SystemMessage> = /* @__PURE__ */ (() =>
  z.object({ role: z.literal('system'), content: z.string() }))();

/** Checks a {@link UserMessage}. */
export const userMessageSchema: z.ZodType<UserMessage> = /* @__PURE__ */ (() =>
  z.object({ role: z.literal('user'), content: z.string() }))();

/** Checks a {@link ToolMessage}. */
export const toolMessageSchema: z.ZodType<ToolMessage> = /* @__PURE__ */ (() =>
  z.object({ role: z.literal('tool'), content: z.string(), toolCallId: z.string() }))();

/** Checks an {@link AssistantMessage}. */
export const assistantMessageSchema: z.ZodType<AssistantMessage> = /* @__PURE__ */ (() =>
  z.object({
    role: z.literal('assistant'),
    content: z.string().optional(),
    toolCalls: z
      .array(
        z.object({
          id: z.string(),
          type: z.literal('function'),
          function: z.object({ name: z.string(), arguments: z.string() }),
        }),
      )
      .optional(),
  }))() as z.ZodType<AssistantMessage>;

/** Checks a {@link ClientMessage}. */
export const clientMessageSchema: z.ZodType<ClientMessage> = /* @__PURE__ */ (() =>
  z.union([systemMessageSchema, userMessageSchema, toolMessageSchema, assistantMessageSchema]))();

/** Checks a {@link Tool}; one without `parameters` passes. */
export const toolSchema: z.ZodType<Tool> = /* @__PURE__ */ (() =>
  z.object({
    name: z.string(),
    description: z.string(),
    parameters: z.any().optional(),
  }))() as z.ZodType<Tool>;

/** Checks a {@link SendMessageInput}; a `resume` without `payload` passes. */
export const sendMessageInputSchema: z.ZodType<SendMessageInput> = /* @__PURE__ */ (() =>
  z.object({
    conversationId: z.string(),
    messages: z.array(clientMessageSchema).optional(),
    resume: z.object({ interruptId: z.string(), payload: z.any().optional() }).optional(),
    tools: z.array(toolSchema).optional(),
  }))() as z.ZodType<SendMessageInput>;

/** Checks a {@link SendMessageEvent}; an interrupt without `payload` passes. */
export const sendMessageEventSchema: z.ZodType<SendMessageEvent> = /* @__PURE__ */ (() =>
  z.union([
    z.object({ type: z.literal('text'), content: z.string() }),
    z.object({
      type: z.literal('tool-call-start'),
      toolCallId: z.string(),
      toolCallName: z.string(),
    }),
    z.object({ type: z.literal('tool-call-args'), toolCallId: z.string(), delta: z.string() }),
    z.object({ type: z.literal('tool-call-end'), toolCallId: z.string() }),
    z.object({ type: z.literal('tool-result'), toolCallId: z.string(), result: z.string() }),
    z.object({
      type: z.literal('interrupt'),
      id: z.string(),
      reason: z.string(),
      payload: z.any().optional(),
    }),
  ]))() as z.ZodType<SendMessageEvent>;
