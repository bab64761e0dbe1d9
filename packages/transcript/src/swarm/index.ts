export * from './swarm-codec.ts'
export * from './swarm-image.ts'
export * from './swarm-message.ts'
