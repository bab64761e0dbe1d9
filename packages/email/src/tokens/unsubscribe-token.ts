import { createHmac, timingSafeEqual } from 'node:crypto'

/** The mailbox that wants no more mail, and the agent. */
export interface Unsubscription {
  readonly agent: string
  readonly mailbox: string
}

const pattern = /^([\w-]{1,700})\.([0-9a-f]{40})$/

/**
 * Names a mailbox to this gateway alone: anyone with the mail can use it, and nobody can make one for another mailbox.
 * It does not expire (RFC 8058 §3.1).
 */
export function formatUnsubscription(key: string, { agent, mailbox }: Unsubscription): string {
  return `${Buffer.from(mailbox).toString('base64url')}.${sign(key, { agent, mailbox })}`
}

/** Undefined for one that was not written here. */
export function readUnsubscription(key: string, agent: string, text: string): Unsubscription | undefined {
  const [, data = '', signature = ''] = pattern.exec(text) ?? []
  const found = { agent, mailbox: Buffer.from(data, 'base64url').toString() }
  if (!data || !timingSafeEqual(Buffer.from(sign(key, found)), Buffer.from(signature))) return undefined
  return found
}

function sign(key: string, { agent, mailbox }: Unsubscription): string {
  return createHmac('sha256', key).update(`unsubscribe ${agent} ${mailbox}`).digest('hex').slice(0, 40)
}
