// Explains refused messages and requests.
import type { Refusal } from '@postern/pipeline'
import type { FixTexts, Reason } from '../reason.ts'
import { causeOf, formatUtcTime, quoteLine, writeFix } from '../reason.ts'

interface RefusalCase extends FixTexts<Refusal> {
  readonly code: string
  /** Codes of the refusal. */
  readonly codes: readonly string[]
  /** Matches the reason; absent if the code alone decides. */
  readonly pattern?: RegExp
  readonly why: string
}

/** Returns a command for the claimed sender. Only a plain address becomes part of a command, because senders can claim anything. */
function resolveSender({ claimed_sender = '' }: Refusal): string | undefined {
  return /^@?[\w.+-]+@[\w.-]+$/.test(claimed_sender) ? `npx postern resolve ${claimed_sender}` : undefined
}

/** The cases in order. For each code, the more precise ones come first. */
export const refusalCases: readonly RefusalCase[] = [
  {
    code: 'act_refused',
    codes: ['forbidden', 'malformed', 'no_recipient', 'unsupported'],
    pattern: /^Cannot (?:post|edit|delete|like|unlike|boost|unboost)\b/,
    why: 'an agent tried an action that is not possible',
    fix: 'The reason names the cause. Change the configuration or the agent.',
  },
  {
    code: 'key_host_down',
    codes: ['unavailable'],
    pattern: /actor's host|keys of its issuer|DNS did not answer|certificate cannot be had/,
    why: 'the host that has the key did not answer, so the gateway could not check the proof',
    fix: 'The peer comes again by itself. If it lasts, see whether this gateway reaches that host and DNS.',
    command: refusal => resolveSender(refusal) ?? 'npx postern doctor',
  },
  {
    code: 'store_down',
    codes: ['unavailable'],
    pattern: /^Cannot store/,
    why: 'the database or the disk did not take it',
    fix: 'The peer comes again. Repair the disk or the database.',
    command: 'npx postern doctor',
  },
  {
    code: 'disk_full',
    codes: ['unavailable'],
    pattern: /the disk is almost full/,
    why: 'the disk has less space left than limits.free_bytes',
    fix: 'Free space on the disk, or lower limits.free_bytes. The peer comes again by itself.',
  },
  {
    code: 'unavailable',
    codes: ['unavailable'],
    why: 'something that the gateway depends on did not answer',
    fix: 'The peer comes again by itself.',
    command: 'npx postern doctor',
  },
  {
    code: 'internal_fault',
    codes: ['internal'],
    why: 'the gateway itself failed',
    fix: 'The log has the stack at this time; report it.',
  },
  {
    code: 'bad_signature',
    codes: ['signature_invalid', 'signer_mismatch'],
    why: 'its proof does not hold',
    fix: 'If the sender is honest, their server signs with another key than it publishes, or a proxy changed the request. Otherwise there is nothing to fix.',
    command: resolveSender,
  },
  {
    code: 'unsigned',
    codes: ['unsigned'],
    why: 'nothing proves who sent it',
    fix: 'The sender has to sign, or to bring a token. A proxy may have removed the header.',
  },
  {
    code: 'expired',
    codes: ['expired'],
    why: 'its proof is too old, or of the future',
    fix: 'The sender has to set their clock and sign again. See that the clock of this machine is right, too.',
    command: 'npx postern doctor',
  },
  {
    code: 'replayed',
    codes: ['replayed'],
    why: 'its proof counts once, and this is its second use',
    fix: 'The sender has to make a new proof for each request.',
  },
  {
    code: 'hop_limit',
    codes: ['forbidden'],
    pattern: /agent chain is longer/,
    why: 'agents have passed it on too often',
    fix: 'Let the agents pass on less, or raise limits.loop.max_hops (for A2A also a2a.limits.max_hops).',
  },
  {
    code: 'call_limit',
    codes: ['forbidden'],
    pattern: /limits\.loop\.calls_per_message/,
    why: 'one message has caused too many calls of agents',
    fix: 'See with "npx postern show" which agent calls that often, and fix it. Raise limits.loop.calls_per_message if you want these calls.',
  },
  {
    code: 'blocked',
    codes: ['forbidden'],
    pattern: /is blocked$/,
    why: 'an operator has blocked its host',
    fix: 'Take the host out of activitypub.block and its files (or put it into activitypub.allow) if you want to hear it.',
  },
  {
    code: 'not_allowed',
    codes: ['forbidden'],
    pattern: /may not speak to this agent/,
    why: "the agent's access list does not let this sender speak to it",
    fix: ({ agent = '<name>' }) =>
      `Change agents.${agent}.allow or agents.${agent}.deny if you want to hear the sender.`,
  },
  {
    code: 'dmarc_rejected',
    codes: ['forbidden'],
    pattern: /DMARC/,
    why: "nothing proves its author, and the author's domain asks for refusal (DMARC)",
    fix: 'The sender has to mail with a DKIM signature or an SPF host of that domain. email.trust.dmarc_reject "quarantine" keeps such mail instead.',
    command: resolveSender,
  },
  {
    code: 'forbidden',
    codes: ['forbidden'],
    why: 'the sender may not do this',
    fix: 'The reason names the rule; change it if you want to hear the sender.',
  },
  {
    code: 'stored_full',
    codes: ['rate_limited'],
    pattern: /^Cannot store message: too much of/,
    why: 'its sender has stored as much as limits.stored allows',
    fix: 'Delete what is old ("retention" and "npx postern prune"), or raise limits.stored.per_identity, per_unverified or unverified.',
  },
  {
    code: 'rate_limited',
    codes: ['rate_limited'],
    why: 'it went over a limit',
    fix: 'The gateway told the peer to come again later. Raise limits.per_address, per_host, per_connector, per_identity, per_unverified or per_agent if you want the traffic; behind a proxy set network.trusted_proxies.',
  },
  {
    code: 'unknown_recipient',
    codes: ['no_recipient'],
    why: 'there is no such agent, task or document here',
    fix: ({ agent }) =>
      `${agent ? `Add agents.${agent} if you want it, or` : 'Add the agent if you want it, or'} let the sender correct the address.`,
  },
  {
    code: 'too_large',
    codes: ['too_large'],
    why: 'it is larger than the gateway takes',
    fix: 'The sender has to send less; limits are in the configuration of the channel.',
  },
  {
    code: 'malformed',
    codes: ['malformed', 'unsupported'],
    why: 'it is not well formed, or asks for something that the gateway does not offer',
    fix: 'The sender has to correct what the reason names.',
  },
]

/** Returns the reason of a refusal; `now` in ms since 1970 UTC. It is cheap enough for each row of a list. */
export function reasonOfRefusal(refusal: Refusal, now: number): Reason {
  const matchingCase = refusalCases.find(
    ({ codes, pattern }) => codes.includes(refusal.code) && (pattern === undefined || pattern.test(refusal.reason)),
  )
  const refusedAt = Date.parse(refusal.at)
  const isOurFault = refusal.code === 'unavailable' || refusal.code === 'internal'
  const verb = isOurFault ? (refusal.via === 'gateway' ? 'Failed' : 'Put off') : 'Refused'
  const answer = refusal.status === undefined ? '' : ` with ${refusal.status}`
  return {
    code: matchingCase?.code ?? refusal.code,
    sentence: `${verb}${answer} at ${formatUtcTime(refusedAt, now)}: ${matchingCase?.why ?? 'the gateway did not take it'} (${causeOf(refusal.reason)})`,
    since: refusedAt,
    evidence: describeRefusal(refusal),
    fix: matchingCase && writeFix(matchingCase, refusal),
  }
}

function describeRefusal({ at, via, from, endpoint, code, reason }: Refusal): Reason['evidence'] {
  const source = endpoint === undefined ? via : `${via}, ${endpoint}`
  return [
    { at: Date.parse(at), fact: `${code} at ${source}, from ${from || 'an unknown address'}: ${quoteLine(reason)}` },
  ]
}
