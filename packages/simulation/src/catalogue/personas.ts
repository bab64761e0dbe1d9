// Lists the simulated senders of each channel and how a gateway must treat them.
import type { SendFault, SendRequest } from '../send.ts'

/** The outcome of one message of the simulation at a gateway. */
export type ExpectedOutcome =
  /** The gateway accepts the message, and the agent answers. */
  | { readonly outcome: 'answered' }
  /** The gateway accepts and stores the message, and no agent sees it. `flag` is the reason. */
  | { readonly outcome: 'kept'; readonly flag: string }
  /** The gateway refuses the message. `answer` is the HTTP status or SMTP code, and `code` is the code of the refusal. */
  | { readonly outcome: 'refused'; readonly answer: number; readonly code: string }
  /** The gateway asks the peer to try again later, because a server that the proof depends on did not answer. */
  | { readonly outcome: 'later'; readonly answer: number }

export const answeredOutcome: ExpectedOutcome = { outcome: 'answered' }

export const keptOutcome = (flag: string): ExpectedOutcome => ({ outcome: 'kept', flag })

export const refusedOutcome = (answer: number, code: string): ExpectedOutcome => ({ outcome: 'refused', answer, code })

export const laterOutcome = (answer: number): ExpectedOutcome => ({ outcome: 'later', answer })

/** A person of the simulation who can write to an agent. */
export interface CataloguePersona {
  readonly via: SendRequest['via']
  /** The sender in `from`, which is an actor, a mailbox or the subject of a token. */
  readonly from: string
  readonly what: string
  /** The outcome of messages without a fault. */
  readonly honestOutcome: ExpectedOutcome
  /** The outcome of unproven messages, if it depends on the sender's domain and its DMARC policy. */
  readonly unprovenOutcome?: ExpectedOutcome
  /** The faults whose outcome differs for this sender. */
  readonly outcomesByFault?: Partial<Readonly<Record<SendFault, ExpectedOutcome>>>
  /** The faults that this sender cannot commit, because they need another sender's key, and the key is this sender's own. */
  readonly impossibleFaults?: readonly SendFault[]
}

const keyUnavailable = refusedOutcome(401, 'signature_invalid')
const refusedByPolicy = refusedOutcome(550, 'forbidden')

type PersonaRow = Omit<CataloguePersona, 'via'>

const actorRows: readonly PersonaRow[] = [
  { from: 'alice@mastodon.test', what: 'a person at a server like Mastodon', honestOutcome: answeredOutcome },
  { from: 'bob@mastodon.test', what: 'a second person at that server', honestOutcome: answeredOutcome },
  {
    from: 'alice@gotosocial.test',
    what: 'a server that shows actors to signed requests only',
    honestOutcome: answeredOutcome,
  },
  { from: 'bob@gotosocial.test', what: 'a second person at that server', honestOutcome: answeredOutcome },
  { from: 'alice@snac.test', what: 'a server that verifies after it has answered', honestOutcome: answeredOutcome },
  { from: 'bob@snac.test', what: 'a second person at that server', honestOutcome: answeredOutcome },
  { from: 'alice@barekey.test', what: 'a key whose document shows the key alone', honestOutcome: answeredOutcome },
  { from: 'bob@barekey.test', what: 'a second person at that server', honestOutcome: answeredOutcome },
  { from: 'alice@rfc9421.test', what: 'a server that signs by RFC 9421 only', honestOutcome: answeredOutcome },
  { from: 'bob@rfc9421.test', what: 'a second person at that server', honestOutcome: answeredOutcome },
  { from: 'alice@slow.test', what: 'every answer of the server takes 300 ms', honestOutcome: answeredOutcome },
  { from: 'alice@redirector.test', what: 'an actor that has moved within its server', honestOutcome: answeredOutcome },
  {
    from: 'mallory@evil.test',
    what: 'the attacker, under their own name',
    honestOutcome: answeredOutcome,
    impossibleFaults: ['forged', 'wrong_owner'],
  },
  { from: 'mallory@redirector.test', what: 'an actor that redirects to another server', honestOutcome: keyUnavailable },
  { from: 'carol@redirector.test', what: 'an actor that redirects to itself', honestOutcome: keyUnavailable },
  { from: 'alice@gone.test', what: 'the server says that nobody lives there any more', honestOutcome: keyUnavailable },
  {
    from: 'alice@dead.test',
    what: 'the server never answers, so its keys cannot be had',
    honestOutcome: laterOutcome(503),
  },
]

/** The rows of the fediverse. If the key cannot be fetched, a forged signature has the same outcome. */
const fediverseRows = actorRows.map(row =>
  row.honestOutcome === answeredOutcome ? row : { ...row, outcomesByFault: { forged: row.honestOutcome } },
)

const mailboxRows: readonly PersonaRow[] = [
  {
    from: 'alice@alice.test',
    what: 'a mailbox with DKIM, SPF and p=reject',
    honestOutcome: answeredOutcome,
    unprovenOutcome: refusedByPolicy,
  },
  {
    from: 'bob@quarantine.test',
    what: 'a mailbox whose domain publishes p=quarantine',
    honestOutcome: answeredOutcome,
    unprovenOutcome: keptOutcome('dmarc_quarantine'),
  },
  {
    from: 'bob@nodmarc.test',
    what: 'a mailbox whose domain has no DMARC record',
    honestOutcome: answeredOutcome,
    unprovenOutcome: answeredOutcome,
  },
  {
    from: 'mallory@evil.test',
    what: 'the attacker, under their own name',
    honestOutcome: answeredOutcome,
    impossibleFaults: ['tampered', 'forged', 'expired', 'wrong_owner'],
  },
  {
    from: 'alice@dead.test',
    what: 'a mailbox whose DKIM key cannot be had, with p=reject',
    honestOutcome: laterOutcome(451),
    unprovenOutcome: refusedByPolicy,
    outcomesByFault: {
      unsigned: answeredOutcome,
      forged: laterOutcome(451),
      expired: laterOutcome(451),
      deep: laterOutcome(451),
    },
  },
]

const callerRows: readonly PersonaRow[] = [
  { from: 'peer', what: 'another agent with a token of a trusted issuer', honestOutcome: answeredOutcome },
  { from: 'alice', what: 'a second subject of that issuer', honestOutcome: answeredOutcome },
]

const chatRows: readonly PersonaRow[] = [
  { from: 'alice', what: 'a person who chats, with a token of a trusted issuer', honestOutcome: answeredOutcome },
  { from: 'bob', what: 'a second person of that issuer', honestOutcome: answeredOutcome },
]

const rowsByChannel: Readonly<Record<SendRequest['via'], readonly PersonaRow[]>> = {
  activitypub: fediverseRows,
  a2a: callerRows,
  email: mailboxRows,
  web: chatRows,
}

/** All personas, by channel. The first persona of a channel is the default sender. */
export const cataloguePersonas: readonly CataloguePersona[] = Object.entries(rowsByChannel).flatMap(([via, list]) =>
  list.map(row => ({ via: via as SendRequest['via'], ...row })),
)
