export * from './normalized-codec.ts'
