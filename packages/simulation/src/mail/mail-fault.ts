import type { Fault } from '../fault.ts'

interface FaultyMail {
  readonly oversizedBytes: number
}

/** What a faulty mail does otherwise than an honest one. */
export interface MailFault {
  /** Who is in `From`, when it must be somebody certain. */
  readonly from?: string
  /** The envelope's sender, which SPF asks about; default the author. */
  readonly envelopeFrom?: string
  /** Whose DKIM key signs, as whose domain; default the author's. */
  readonly signer?: string
  /** Whose key really makes the signature, while the author's domain and selector stand in it. */
  readonly keyOf?: string
  readonly unsigned?: boolean
  /** Seconds from now until the signature is over, for `t=` and `x=`. */
  readonly lifetime?: { readonly from: number; readonly to: number }
  /** The very same octets once more. */
  readonly twice?: boolean
  readonly unknownRecipient?: boolean
  /** Before signing. */
  shape?(octets: Buffer, faulty: FaultyMail): Buffer
  /** After signing. */
  alter?(octets: Buffer): Buffer
}

const attacker = 'mallory@evil.test'
const hour = 3_600

/**
 * Each fault is one wrong thing. Where the proof of the author's domain is what is wrong, the mail comes through the
 * attacker's host: sent by the author's own, SPF would still prove it.
 */
export const mailFaults: Readonly<Record<Fault, MailFault>> = {
  unsigned: { unsigned: true },
  tampered: { envelopeFrom: attacker, alter: octets => Buffer.concat([octets, Buffer.from('One line more.\r\n')]) },
  forged: { envelopeFrom: attacker, keyOf: 'evil.test' },
  expired: { envelopeFrom: attacker, lifetime: { from: -48 * hour, to: -24 * hour } },
  replayed: { twice: true },
  wrong_owner: { envelopeFrom: attacker, signer: 'evil.test' },
  oversized: { shape: (octets, { oversizedBytes }) => Buffer.concat([octets, fillLines(oversizedBytes)]) },
  deep: { shape: octets => nestParts(octets, 200) },
  malformed: {
    envelopeFrom: attacker,
    alter: octets => Buffer.concat([Buffer.from(`From: <${attacker}>\r\n`), octets]),
  },
  key_host_down: { from: 'alice@dead.test', envelopeFrom: attacker },
  unknown_recipient: { unknownRecipient: true },
}

function fillLines(bytes: number): Buffer {
  return Buffer.alloc(Math.ceil(bytes / 78) * 78, `${'x'.repeat(76)}\r\n`)
}

/** Wraps the body in multiparts, one inside the other. */
function nestParts(octets: Buffer, depth: number): Buffer {
  const text = octets.toString('latin1')
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const fields = head.split(/\r\n(?![ \t])/).filter(field => !/^content-/i.test(field))
  const levels = Array.from({ length: depth }, (_, level) => `level-${level}`)
  const openings = levels.map(
    boundary => `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n--${boundary}\r\n`,
  )
  const closings = levels.map(boundary => `\r\n--${boundary}--`).reverse()
  const inner = `Content-Type: text/plain; charset=utf-8\r\n\r\n${rest.join('\r\n\r\n')}`
  return Buffer.from(`${fields.join('\r\n')}\r\n${openings.join('')}${inner}${closings.join('')}\r\n`, 'latin1')
}
