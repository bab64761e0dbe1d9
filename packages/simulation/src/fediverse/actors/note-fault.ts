import type { Fault } from '../../fault.ts'

type Encodable = Readonly<Record<string, unknown>>

/** What a faulty delivery does otherwise than an honest one. */
export interface NoteFault {
  /** Whom the activity names as its actor. */
  readonly author?: string
  /** Who signs, with which key id. */
  readonly signer?: string
  /** Whose key really makes the signature. */
  readonly keyOf?: string
  /** Leaves the signature out. */
  readonly unsigned?: boolean
  /** Moves `Date`, ms. */
  readonly dateShiftMs?: number
  /** Sends the very same request once more; the second answer counts. */
  readonly twice?: boolean
  /** Speaks to an agent that does not exist. */
  readonly unknownRecipient?: boolean
  /** The octets that are signed, when they are not the plain JSON. */
  encode?(activity: Encodable, oversizedBytes: number): Buffer
  /** What happens to the octets after signing. */
  alter?(octets: Buffer): Buffer
}

const dayMs = 86_400_000

/** Each fault is honest in everything but the one thing it is named after. */
export const noteFaults: Readonly<Record<Fault, NoteFault>> = {
  unsigned: { unsigned: true },
  tampered: { alter: octets => Buffer.from(octets.toString().replaceAll('<p>', '<p>Altered: ')) },
  forged: { keyOf: 'mallory@evil.test' },
  expired: { dateShiftMs: -2 * dayMs },
  replayed: { twice: true },
  wrong_owner: { signer: 'mallory@evil.test' },
  oversized: { encode: (activity, bytes) => encodeJson({ ...activity, padding: 'x'.repeat(bytes) }) },
  deep: { encode: activity => nest(activity, 2_000) },
  malformed: { encode: activity => encodeJson(activity).subarray(0, -1) },
  key_host_down: { author: 'alice@dead.test', signer: 'alice@dead.test' },
  unknown_recipient: { unknownRecipient: true },
}

function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

/** Written as text: building it as a value would make the depth our own problem. */
function nest(activity: Encodable, depth: number): Buffer {
  const text = JSON.stringify(activity).slice(0, -1)
  return Buffer.from(`${text},"nested":${'['.repeat(depth)}${']'.repeat(depth)}}`)
}
