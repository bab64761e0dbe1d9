/** The names of the private network; all of them are this machine. */
export const ourHost = 'agents.test'
export const ourOrigin = `https://${ourHost}`
export const chatAppHost = 'chat.test'
export const chatAppOrigin = `https://${chatAppHost}`
export const snacHost = 'snac.test'
export const snacOrigin = `https://${snacHost}`
export const pythonHost = 'python.test'
export const pythonOrigin = `https://${pythonHost}`

/** Where each listens behind the TLS terminator. The network is private: nobody else can have them. */
export const ports = { gateway: 8787, snac: 8001, chat: 8790, python: 8791 } as const
