// Connects bots written with Chat SDK to people in the fediverse, by mail and on other agents.
export type { PosternAdapter, PosternAdapterOptions } from './adapter.ts'
export { createPosternAdapter } from './adapter.ts'
export type { PosternOperator } from './operator.ts'
export type { PosternThread } from './to-chat-message.ts'
