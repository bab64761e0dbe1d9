import type { Fault, TokenOnlyFault } from '../fault.ts'
import type { SendFault, SendRequest } from '../send.ts'
import type { ExpectedOutcome } from './outcome.ts'
import { kept, later, refused } from './outcome.ts'

/** `honest`, `unproven`: as it is for this persona. */
type FaultOutcome = ExpectedOutcome | 'honest' | 'unproven'

/** What is wrong about a message that has a fault, in words. */
export const faultWords: Readonly<Record<SendFault, string>> = {
  unsigned: 'without signature or token; mail is still proven by SPF',
  tampered: 'changed after it was signed',
  forged: "signed with somebody else's key under the sender's name",
  expired: 'signed two days ago',
  replayed: 'sent twice; a call with the same id and another text',
  wrong_owner: 'signed by somebody else, openly; a token for another service',
  oversized: 'larger than the gateway takes',
  deep: 'nested deeper than the gateway reads',
  malformed: 'JSON that is cut; a mail with two From fields',
  key_host_down: 'from somebody whose key cannot be fetched',
  unknown_recipient: 'for an agent that does not exist',
  not_yet: 'a token that is valid in two hours',
  wrong_issuer: 'a token of an issuer that nobody trusts',
  alg_none: 'a token without a signature',
}

const unsigned = refused(401, 'unsigned')
const badSignature = refused(401, 'signature_invalid')
const tooLarge = refused(413, 'too_large')

/** What each channel makes of each fault. */
export const faultOutcomes: Readonly<
  Record<SendRequest['via'], Readonly<Record<Fault, FaultOutcome>> & Partial<Record<TokenOnlyFault, FaultOutcome>>>
> = {
  activitypub: {
    unsigned,
    tampered: badSignature,
    forged: badSignature,
    expired: refused(401, 'expired'),
    replayed: 'honest',
    wrong_owner: refused(401, 'signer_mismatch'),
    oversized: tooLarge,
    deep: refused(400, 'malformed'),
    malformed: refused(400, 'malformed'),
    key_host_down: later(503),
    unknown_recipient: refused(404, 'no_recipient'),
  },
  a2a: {
    unsigned,
    tampered: badSignature,
    forged: badSignature,
    expired: refused(401, 'expired'),
    replayed: refused(200, 'malformed'),
    wrong_owner: badSignature,
    oversized: tooLarge,
    deep: refused(200, 'malformed'),
    malformed: refused(200, 'malformed'),
    key_host_down: later(503),
    unknown_recipient: refused(404, 'no_recipient'),
    not_yet: badSignature,
    wrong_issuer: badSignature,
    alg_none: badSignature,
  },
  email: {
    unsigned: 'honest',
    tampered: 'unproven',
    forged: 'unproven',
    expired: 'unproven',
    replayed: 'honest',
    wrong_owner: 'unproven',
    oversized: refused(552, 'too_large'),
    deep: kept('mime_limits'),
    malformed: refused(554, 'malformed'),
    key_host_down: later(451),
    unknown_recipient: refused(550, 'no_recipient'),
  },
}
