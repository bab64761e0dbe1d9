export * from './agent-contract.ts'
export * from './protocol-contract.ts'
export * from './store-contract.ts'
