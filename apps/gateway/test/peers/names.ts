/** Lists the names of the private network, all of which lead to this machine. */
export const ourHost = 'agents.test'
export const ourOrigin = `https://${ourHost}`
export const chatAppHost = 'chat.test'
export const chatAppOrigin = `https://${chatAppHost}`
export const snacHost = 'snac.test'
export const snacOrigin = `https://${snacHost}`
export const pythonHost = 'python.test'
export const pythonOrigin = `https://${pythonHost}`
export const fedifyHost = 'fedify.test'
export const fedifyOrigin = `https://${fedifyHost}`

/** All hosts of the private network. */
export const hostNames: readonly string[] = [ourHost, chatAppHost, snacHost, pythonHost, fedifyHost]

/** The port of each server behind the TLS terminator. The network is private, so nobody else can use these ports. */
export const ports = { gateway: 8787, snac: 8001, chat: 8790, python: 8791, fedify: 8792 } as const
