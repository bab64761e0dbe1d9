import type { Inbound, IntakeSteps, Platform, Proof, UsedKey } from '@postern/core'
import { Rejection, toProofKey } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import { noChain, planChain } from './authenticate/arc-chain.ts'
import type { MayDefer } from './authenticate/deferrals.ts'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import {
  classifySignature,
  dayMs,
  fetchKeys,
  keepCovered,
  leavesEndOpen,
  mayBeDamaged,
  planSignatures,
  readCovered,
  readSharedCoverage,
} from './authenticate/signatures.ts'
import type { UpstreamVerdict } from './authenticate/upstream.ts'
import { readUpstream, resultsFieldName } from './authenticate/upstream.ts'
import type { Authentication, BelievedVerdict, MailDns, MailEvidence } from './authenticate/verdict.ts'
import { checkDmarc, checkSpf, judgeMail, unjudgedMail } from './authenticate/verdict.ts'
import type { MailBody } from './body/mail-body.ts'
import type { MailTrust } from './config/trust.ts'
import type { MeetCorrespondent, SenderHistory } from './correspondents/correspondents.ts'
import { findLookAlikes } from './correspondents/correspondents.ts'
import type { TxtAnswer } from './dkim/report.ts'
import type { MailReading, UnprovenMail } from './intake/intake.ts'
import { readOwnId, readThread, readUnprovenMail } from './intake/intake.ts'
import type { AddressTokens, Mailbox } from './mail/addresses.ts'
import {
  findRecipient,
  findRecipients,
  findRepeatedFields,
  formatMailbox,
  hidesInHeader,
  isForwardSubject,
} from './mail/addresses.ts'
import type { HeaderBlock, HeaderField } from './mail/octets.ts'
import { digestContent, fieldValues, findField, toBuffer, withoutRanges } from './mail/octets.ts'
import type { RawMail } from './mail/raw.ts'
import type { MimeResult } from './mime/job.ts'
import type { MimePool } from './mime/pool.ts'
import type { SimpleReader } from './mime/read-mail.ts'
import type { MailNormalizing } from './normalize.ts'
import { normalizeMail } from './normalize.ts'
import type { UnreadableMail } from './out/unreadable.ts'
import { chooseUnreadable, encryptedFlags } from './out/unreadable.ts'

interface MailVerifying extends MailReading {
  readonly trust: MailTrust
  /** Whether authors of encrypted mail are told that it cannot be read. */
  readonly tellsUnreadable: boolean
  readonly dns: MailDns
  readonly readSimple: SimpleReader
  readonly pool: MimePool
  readonly mayDefer: MayDefer
  readonly noteSignature: NoteSignature
  readonly meetCorrespondent: MeetCorrespondent
}

interface MailInbound extends Omit<MailVerifying, 'tokens' | 'steps'>, Pick<MailNormalizing, 'config' | 'maxHops'> {
  openTokens(): Promise<AddressTokens>
}

/** Mail on its way in: verified, then normalized. */
export function createMailInbound({
  config,
  maxHops,
  openTokens,
  ...verifying
}: MailInbound): Inbound<RawMail, ProvenMail> {
  const { agents } = verifying.gateway
  // Read with the first mail, so that all that follows is pure.
  let tokens: AddressTokens | undefined
  return {
    name: 'email',
    async verify(raw, steps) {
      tokens ??= await openTokens()
      return verifyMail(raw, { ...verifying, tokens, steps })
    },
    normalize(mail) {
      if (!tokens) throw new Error('mail is normalized that was not verified')
      return normalizeMail(mail, { agents, tokens, config, maxHops })
    },
  }
}

/**
 * Finds and proves the author of a message (RFC 6376, 7208, 9989): header first, then the recipients, then DNS, then
 * the heavy work: in a thread of its own, unless the message is simple.
 * @throws Rejection, Unavailable
 */
async function verifyMail(raw: RawMail, verifying: MailVerifying): Promise<ProvenMail> {
  const mail = await readUnprovenMail(raw, verifying)
  const { gateway, pool, readSimple, limits, trust, steps } = verifying
  const chain = trust.arc_sealers.length > 0 ? planChain(mail.header, trust.arc_sealers) : noChain
  const plan = planSignatures(mail.header, mail.addresses.author.domain, { limits, chain })
  const keyBudget = verifying.dns.openBudget()
  void askPolicyEarly(mail, verifying)
  const times: MailTimes = { asked: steps.now(), known: verifying.dns.listKnown(plan.keyNames) }
  const [keys, spf] = await Promise.all([
    fetchKeys(plan, keyBudget),
    runSpf(raw, verifying).finally(() => {
      times.spf = steps.now()
    }),
  ])
  const { isSealed } = chain
  const now = gateway.platform.now()
  const { endpoint } = raw.envelope
  const authorDomain = mail.addresses.author.domain
  const upstream = trust.upstreams.length > 0 ? readUpstream(mail.header, { endpoint, authorDomain, trust }) : undefined
  const believed = findBelieved(mail, upstream)
  const isLoose = isStructureOpen(mail, isSealed, believed)
  const reading = { isLoose, isVouched: believed !== undefined, keepsQuotes: keepsQuotes(mail.header) }
  const job = { octets: raw.octets, ignored: plan.ignored, keys, isSealed, ...reading, now }
  const simple = await readSimple(job, mail.header)
  const read = 'body' in simple ? simple : await pool.run(simple)
  const judging = { now, minKeyBits: trust.min_key_bits, isDamaged: mayBeDamaged(mail) }
  times.read = steps.now()
  const signatures = read?.signatures.map(report => classifySignature(report, judging)) ?? []
  const authentication = read
    ? await judge(mail, { signatures, spf, chain: read.chain, upstream, believed }, read, verifying)
    : unjudgedMail('the parser was stopped')
  noteAuthentication(steps, authentication.proofs, keys, times)
  refuseImpostors(mail.addresses.author, authentication, verifying)
  const body = read?.body ?? withoutBody(mail)
  const { covered, named, flags: uncovered } = readCovered(mail.header, mail.addresses, authentication.coverage)
  const known = raw.known ?? [
    ...(await noteReuse(mail, verifying)),
    ...noteReplay({ ...mail, named }, authentication, verifying),
  ]
  const senderHistories = await meetAuthor(mail, authentication, verifying)
  const unreadable = await findUnreadable({ ...mail, covered, authentication, body }, verifying)
  const flags = [
    ...plan.flags,
    ...flagsOf(mail, verifying),
    ...known,
    ...authentication.flags,
    ...uncovered,
    ...body.flags,
  ]
  const keptOctets = withoutForeignResults(mail, upstream?.field)
  const proven = { known, covered, named, authentication, body, senderHistories, unreadable, keptOctets, flags }
  return { ...mail, ...proven } as unknown as ProvenMail
}

/** A report has no author who could resemble another. */
async function meetAuthor(
  { recipients, addresses: { author }, isReport }: UnprovenMail,
  { isVerified }: Authentication,
  { meetCorrespondent }: MailVerifying,
): Promise<ReadonlyMap<string, SenderHistory>> {
  const meeting = isReport ? [] : recipients
  return new Map(
    await Promise.all(
      meeting.map(async ({ agent }) => [agent, await meetCorrespondent(agent, author, isVerified)] as const),
    ),
  )
}

async function findUnreadable(
  mail: Omit<UnreadableMail, 'thread'> & Pick<ProvenMail, 'body' | 'covered'>,
  { tellsUnreadable, gateway: { store, platform } }: MailVerifying,
): Promise<ReadonlySet<string>> {
  if (!tellsUnreadable || !mail.body.flags.some(flag => encryptedFlags.has(flag))) return new Set()
  const once = { consumeOnce: store.consumeOnce.bind(store), now: () => platform.now() }
  return chooseUnreadable({ ...mail, thread: readThread(mail, mail.body.digest) }, once)
}

/**
 * Another mail of the same Message-ID never replaces this one; the duplicate id is reported. A second copy of the same
 * mail is not stored.
 */
async function noteReuse({ header, recipients }: UnprovenMail, { gateway }: MailVerifying): Promise<string[]> {
  const messageId = readOwnId(header)
  if (!messageId) return []
  const known = await Promise.all(recipients.map(({ agent }) => gateway.store.findMessageTo(agent, messageId)))
  return known.some(found => found !== undefined) ? ['message_id_reused'] : []
}

/** A valid signature that comes again, to a recipient whom its mail does not name. */
function noteReplay(
  { named: { to, cc }, recipients }: Pick<ProvenMail, 'named' | 'recipients'>,
  { signature }: Authentication,
  { noteSignature, gateway }: MailVerifying,
): string[] {
  if (!signature) return []
  const agents = new Set(findRecipients([...to, ...cc].map(formatMailbox), gateway.agents).map(({ agent }) => agent))
  return noteSignature(
    signature.id,
    recipients.map(({ agent }) => ({ agent, isNamed: agents.has(agent) })),
  )
}

/** The policy is judged last, and is waited for with the keys: the answer, or that there is none, is remembered. */
async function askPolicyEarly({ addresses: { author } }: UnprovenMail, { dns }: MailVerifying): Promise<void> {
  await dns
    .openBudget()
    .resolve(`_dmarc.${author.domain}`, 'TXT')
    .catch(() => undefined)
}

function runSpf({ envelope }: RawMail, { dns, gateway, limits }: MailVerifying) {
  const budget = dns.openBudget()
  return checkSpf(envelope, { budget, mta: gateway.agents.domain, timeoutMs: limits.dns_timeout_ms * 3 })
}

async function judge(
  mail: UnprovenMail,
  found: Omit<MailEvidence, 'authorDomain' | 'dmarc'>,
  { body }: MimeResult,
  { mayDefer, dns, trust }: MailVerifying,
): Promise<Authentication> {
  // Its own questions: whoever makes us look for many keys must not keep us from the policy.
  const budget = dns.openBudget()
  const authorDomain = mail.addresses.author.domain
  const dmarc = await checkDmarc({ authorDomain, ...found }, budget)
  const mayWait = mail.raw.known === undefined
  const canDefer = async () => mayWait && !budget.isExhausted() && (await mayDefer(body.digest))
  return judgeMail(
    { ...found, authorDomain, dmarc },
    { canDefer, isReport: mail.isReport, spfOnly: trust.spf_only, onReject: trust.dmarc_reject },
  )
}

/**
 * A trusted server that saw the author proven. The verdict does not name its signature, so only fields that all of them
 * cover are covered. An open end of the body proves nothing.
 */
function findBelieved(
  { raw: { envelope }, header, addresses: { author } }: UnprovenMail,
  upstream: UpstreamVerdict | undefined,
): BelievedVerdict | undefined {
  if (leavesEndOpen(header, author.domain)) return undefined
  const shared = readSharedCoverage(header, author.domain)
  if (upstream?.isProven) {
    const issuer = `authserv:${upstream.authservId}`
    return { issuer, coverage: shared ?? (upstream.isBySpf ? 'all' : ['from']) }
  }
  return envelope.source?.hasDmarcPass ? { issuer: envelope.source.name, coverage: shared ?? 'all' } : undefined
}

/** The mail without verdicts that others wrote: a reader must not take them for ours. */
function withoutForeignResults({ raw, header }: UnprovenMail, trusted: HeaderField | undefined): Uint8Array {
  const foreign = header.fields.filter(field => field.name === resultsFieldName && field !== trusted)
  return withoutRanges(
    toBuffer(raw.octets),
    foreign.map(({ start, end }) => [start, end]),
  )
}

/** Before it is known which proof holds: whether one that may hold leaves open how the body is put together. */
function isStructureOpen(
  { header, addresses: { author } }: UnprovenMail,
  isSealed: boolean,
  believed: BelievedVerdict | undefined,
): boolean {
  const coverage = readSharedCoverage(header, author.domain, isSealed) ?? believed?.coverage ?? 'all'
  const covered = keepCovered(header, coverage)
  const names = ['content-type', 'content-transfer-encoding']
  return names.some(name => fieldValues(covered, name).length < fieldValues(header, name).length)
}

/** Mail in the name of one of our agents counts only when we signed it ourselves. */
function refuseImpostors(author: Mailbox, { isVerified }: Authentication, { gateway }: MailVerifying): void {
  const isOurs = findRecipient(`${author.local}@${author.domain}`, gateway.agents) !== undefined
  if (isOurs && !isVerified) throw new Rejection('forbidden', 'Cannot accept mail: its From is one of our own agents')
}

/** Only a reply quotes what we know already; a forwarding is about what it quotes. */
function keepsQuotes(header: HeaderBlock): boolean {
  const isReply = findField(header, 'in-reply-to') !== undefined || findField(header, 'references') !== undefined
  return !isReply || isForwardSubject(findField(header, 'subject') ?? '')
}

function flagsOf({ header, addresses: { author } }: UnprovenMail, { gateway }: MailVerifying): string[] {
  const repeated = findRepeatedFields(header).length > 0 ? ['duplicate_header'] : []
  const isHiding = ['from', 'subject'].some(name => hidesInHeader(findField(header, name) ?? ''))
  return [...repeated, ...(isHiding ? ['invisible_characters'] : []), ...findLookAlikes(author, gateway.agents)]
}

function withoutBody({ raw, header }: UnprovenMail): MailBody {
  const digest = digestContent(toBuffer(raw.octets), header)
  return { text: '', files: [], details: {}, flags: ['parser_killed'], digest }
}

/** When the checks of a mail began and ended, of `steps.now()`; several run at a time. */
interface MailTimes {
  /** DNS was asked for keys and SPF. */
  readonly asked: number
  /** Names of keys that were remembered. */
  readonly known: ReadonlySet<string>
  spf?: number
  /** The mail was read, and its signatures computed. */
  read?: number
}

/** Notes each proof of a mail with the time that it took, and the keys from DNS. */
function noteAuthentication(
  steps: IntakeSteps,
  proofs: readonly Proof[],
  keys: Readonly<Record<string, TxtAnswer>>,
  { asked, known, spf = asked, read = asked }: MailTimes,
): void {
  const judged = steps.now()
  const spans: Readonly<Record<string, readonly [since: number, until: number]>> = {
    dkim: [asked, read],
    arc: [asked, read],
    spf: [asked, spf],
    dmarc: [read, judged],
  }
  for (const proof of proofs) {
    const [since, until] = spans[proof.kind] ?? [read, judged]
    steps.note(proof, since, findKey(proof, keys, known), until)
  }
}

/** The record of the key as DNS has it; `key_id` names where. */
function findKey(
  { key_id }: Proof,
  keys: Readonly<Record<string, TxtAnswer>>,
  known: ReadonlySet<string>,
): UsedKey | undefined {
  const [, domain, selector] = /^d=(.*)\/s=(.*)$/.exec(key_id ?? '') ?? []
  const name = `${selector}._domainkey.${domain}`
  const answer = domain === undefined ? undefined : keys[name]
  if (!answer) return undefined
  const from = known.has(name) ? 'cache' : 'dns'
  const [record] = 'records' in answer ? answer.records : []
  return { from, ...(record && { key: toProofKey('dkim', record.join('')) }) }
}

/**
 * Flags for a signature that now comes to these agents: `replayed_signature` when it was here before and its header names
 * none of those who are new; `signature_flood` when that has happened too often in a day. It remembers to whom the signature has come: a hint,
 * which a restart forgets, and another gateway does not know of.
 */
type NoteSignature = (id: string, recipients: readonly ReplayRecipient[]) => string[]

interface ReplayRecipient {
  readonly agent: string
  /** The header, which the signature covers, names it. */
  readonly isNamed: boolean
}

interface Seen {
  readonly agents: Set<string>
  unnamed: number
}

const [maxSignatures, maxUnnamed] = [50_000, 20]

/** One valid mail that others send on to many keeps its valid signature (DKIM replay). */
export function createSignatureReplays({ now }: Pick<Platform, 'now'>): NoteSignature {
  const known = createExpiringMap<Seen>(maxSignatures, now)

  function find(id: string): Seen {
    const seen = known.get(id)
    if (seen) return seen
    const fresh: Seen = { agents: new Set(), unnamed: 0 }
    known.set(id, fresh, dayMs)
    return fresh
  }

  return (id, recipients) => {
    const seen = find(id)
    const wasHere = seen.agents.size > 0
    const strangers = recipients.filter(({ agent, isNamed }) => !isNamed && !seen.agents.has(agent))
    for (const { agent } of recipients) seen.agents.add(agent)
    seen.unnamed += strangers.length
    return [
      ...(wasHere && strangers.length > 0 ? ['replayed_signature'] : []),
      ...(seen.unnamed > maxUnnamed ? ['signature_flood'] : []),
    ]
  }
}
