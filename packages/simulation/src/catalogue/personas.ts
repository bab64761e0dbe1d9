// Lists the simulated senders of each channel and how a gateway must treat them.
import type { SendFault, SendRequest } from '../send.ts'

/** The outcome of one message of the simulation at a gateway. */
export type ExpectedOutcome =
  /** The gateway accepts the message, and the agent answers. */
  | { readonly outcome: 'answered' }
  /** The gateway accepts and stores the message, and no agent sees it; `flag` says why. */
  | { readonly outcome: 'kept'; readonly flag: string }
  /** The gateway refuses the message: `answer` is the HTTP status or SMTP code, `code` that of the refusal. */
  | { readonly outcome: 'refused'; readonly answer: number; readonly code: string }
  /** The gateway asks the peer to try again later, because a server that the proof depends on did not answer. */
  | { readonly outcome: 'later'; readonly answer: number }

export const answered: ExpectedOutcome = { outcome: 'answered' }

export const kept = (flag: string): ExpectedOutcome => ({ outcome: 'kept', flag })

export const refused = (answer: number, code: string): ExpectedOutcome => ({ outcome: 'refused', answer, code })

export const later = (answer: number): ExpectedOutcome => ({ outcome: 'later', answer })

/** A person of the simulation who can write to an agent. */
export interface CataloguePersona {
  readonly via: SendRequest['via']
  /** The sender in `from`: an actor, a mailbox, the subject of a token. */
  readonly from: string
  readonly what: string
  /** The outcome of messages without a fault. */
  readonly honest: ExpectedOutcome
  /** The outcome of unproven messages, if it depends on the sender: the DMARC policy of their domain. */
  readonly unproven?: ExpectedOutcome
  /** The faults whose outcome differs for this sender. */
  readonly otherwise?: Partial<Readonly<Record<SendFault, ExpectedOutcome>>>
  /** The faults that this sender cannot commit, because they need another sender's key, and the key is this sender's own. */
  readonly without?: readonly SendFault[]
}

const notHad = refused(401, 'signature_invalid')
const byPolicy = refused(550, 'forbidden')

type Row = Omit<CataloguePersona, 'via'>

const actors: readonly Row[] = [
  { from: 'alice@mastodon.test', what: 'a person at a server like Mastodon', honest: answered },
  { from: 'bob@mastodon.test', what: 'a second person at that server', honest: answered },
  { from: 'alice@gotosocial.test', what: 'a server that shows actors to signed requests only', honest: answered },
  { from: 'bob@gotosocial.test', what: 'a second person at that server', honest: answered },
  { from: 'alice@snac.test', what: 'a server that verifies after it has answered', honest: answered },
  { from: 'bob@snac.test', what: 'a second person at that server', honest: answered },
  { from: 'alice@barekey.test', what: 'a key whose document shows the key alone', honest: answered },
  { from: 'bob@barekey.test', what: 'a second person at that server', honest: answered },
  { from: 'alice@rfc9421.test', what: 'a server that signs by RFC 9421 only', honest: answered },
  { from: 'bob@rfc9421.test', what: 'a second person at that server', honest: answered },
  { from: 'alice@slow.test', what: 'every answer of the server takes 300 ms', honest: answered },
  { from: 'alice@redirector.test', what: 'an actor that has moved within its server', honest: answered },
  {
    from: 'mallory@evil.test',
    what: 'the attacker, under their own name',
    honest: answered,
    without: ['forged', 'wrong_owner'],
  },
  { from: 'mallory@redirector.test', what: 'an actor that redirects to another server', honest: notHad },
  { from: 'carol@redirector.test', what: 'an actor that redirects to itself', honest: notHad },
  { from: 'alice@gone.test', what: 'the server says that nobody lives there any more', honest: notHad },
  { from: 'alice@dead.test', what: 'the server never answers, so its keys cannot be had', honest: later(503) },
]

/** A key that cannot be fetched is noticed before a forged signature. */
const fediverse = actors.map(row => (row.honest === answered ? row : { ...row, otherwise: { forged: row.honest } }))

const mailboxes: readonly Row[] = [
  { from: 'alice@alice.test', what: 'a mailbox with DKIM, SPF and p=reject', honest: answered, unproven: byPolicy },
  {
    from: 'bob@quarantine.test',
    what: 'a mailbox whose domain publishes p=quarantine',
    honest: answered,
    unproven: kept('dmarc_quarantine'),
  },
  {
    from: 'bob@nodmarc.test',
    what: 'a mailbox whose domain has no DMARC record',
    honest: answered,
    unproven: answered,
  },
  {
    from: 'mallory@evil.test',
    what: 'the attacker, under their own name',
    honest: answered,
    without: ['tampered', 'forged', 'expired', 'wrong_owner'],
  },
  {
    from: 'alice@dead.test',
    what: 'a mailbox whose DKIM key cannot be had, with p=reject',
    honest: later(451),
    unproven: byPolicy,
    otherwise: { unsigned: answered, forged: later(451), expired: later(451), deep: later(451) },
  },
]

const callers: readonly Row[] = [
  { from: 'peer', what: 'another agent with a token of a trusted issuer', honest: answered },
  { from: 'alice', what: 'a second subject of that issuer', honest: answered },
]

const chatters: readonly Row[] = [
  { from: 'alice', what: 'a person who chats, with a token of a trusted issuer', honest: answered },
  { from: 'bob', what: 'a second person of that issuer', honest: answered },
]

const rows: Readonly<Record<SendRequest['via'], readonly Row[]>> = {
  activitypub: fediverse,
  a2a: callers,
  email: mailboxes,
  web: chatters,
}

/** All personas, by channel; the first one of a channel sends if none is named. */
export const cataloguePersonas: readonly CataloguePersona[] = Object.entries(rows).flatMap(([via, list]) =>
  list.map(row => ({ via: via as SendRequest['via'], ...row })),
)
