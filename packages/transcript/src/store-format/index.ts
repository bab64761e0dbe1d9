export * from './message-types.ts'
export * from './store-codec.ts'
export * from './store-message.ts'
export { storeTypeOfEntry } from './write-store-message.ts'
