export type * from './ag-ui-provider-types.ts';
export type * from './bridge-types.ts';
export type * from './chat-types.ts';
export type * from './command-types.ts';
export type * from './event-types.ts';
export type * from './provider-types.ts';
export type * from './state-types.ts';
