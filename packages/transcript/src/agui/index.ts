export * from './agui-codec.ts'
export * from './agui-message.ts'
export * from './agui-parts.ts'
export * from './agui-usage.ts'
