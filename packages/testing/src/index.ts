export * from './agent-contract.ts'
export * from './desk-contract.ts'
export * from './protocol-contract.ts'
