import type { IntakeSteps } from '@postern/core'
import { Rejection } from '@postern/core'
import { findLookAlikes } from './addresses/look-alikes.ts'
import type { Mailbox } from './addresses/mailbox.ts'
import { formatMailbox } from './addresses/mailbox.ts'
import { findRecipient, findRecipients } from './addresses/recipients.ts'
import { planChain } from './authenticate/arc/chain.ts'
import type { Deferrals } from './authenticate/deferral.ts'
import { classifySignature } from './authenticate/dkim/classify.ts'
import { mayBeDamaged } from './authenticate/dkim/damage.ts'
import { fetchKeys, planSignatures } from './authenticate/dkim/plan.ts'
import type { SignatureReplays } from './authenticate/dkim/replays.ts'
import { checkDmarc } from './authenticate/dmarc.ts'
import type { MailDns } from './authenticate/dns/mail-dns.ts'
import type { BelievedVerdict, MailEvidence } from './authenticate/evidence.ts'
import type { MailTimes } from './authenticate/note-steps.ts'
import { noteAuthentication } from './authenticate/note-steps.ts'
import { keepCovered, leavesEndOpen, readSharedCoverage } from './authenticate/signatures/coverage.ts'
import { checkSpf } from './authenticate/spf.ts'
import type { UpstreamVerdict } from './authenticate/upstream/results.ts'
import { readUpstream, withoutForeignResults } from './authenticate/upstream/results.ts'
import type { Authentication } from './authenticate/verdict.ts'
import { judgeMail, unjudgedMail } from './authenticate/verdict.ts'
import type { MailBody } from './body/mail-body.ts'
import type { MailTrust } from './config/trust.ts'
import type { Correspondents, SenderHistory } from './correspondents/correspondents.ts'
import type { HeaderBlock } from './mail/header-scan.ts'
import { fieldValues, findField, findRepeatedFields, toBuffer } from './mail/header-scan.ts'
import type { RawMail } from './mail/raw.ts'
import { digestContent } from './mail/trace-fields.ts'
import type { MailReading, UnprovenMail } from './mail/unproven.ts'
import { readUnprovenMail } from './mail/unproven.ts'
import type { MimeResult } from './mime/job.ts'
import type { MimePool } from './mime/pool.ts'
import type { SimpleReader } from './mime/simple/simple-mail.ts'
import type { UnreadableMail } from './out/addressing/unreadable.ts'
import { chooseUnreadable } from './out/addressing/unreadable.ts'
import { readCovered } from './proven/covered-mail.ts'
import type { ProvenMail } from './proven/mail.ts'
import { hidesInHeader } from './text/encoded-words.ts'
import { isForwardSubject } from './threads/subject.ts'
import { readOwnId, readThread } from './threads/thread.ts'

interface MailVerifying extends MailReading {
  readonly trust: MailTrust
  /** Whether authors of encrypted mail are told that it cannot be read. */
  readonly tellsUnreadable: boolean
  readonly dns: MailDns
  readonly readSimple: SimpleReader
  readonly pool: MimePool
  readonly deferrals: Deferrals
  readonly replays: SignatureReplays
  readonly correspondents: Correspondents
  readonly steps: IntakeSteps
}

/**
 * Finds and proves the author of a message (RFC 6376, 7208, 9989): header first, then the recipients, then DNS, then
 * the heavy work: in a thread of its own, unless the message is simple.
 * @throws Rejection, Unavailable
 */
export async function verifyMail(raw: RawMail, verifying: MailVerifying): Promise<ProvenMail> {
  const mail = await readUnprovenMail(raw, verifying)
  const { gateway, pool, readSimple, limits, trust, steps } = verifying
  const chain = planChain(mail.header, trust.arc_sealers)
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
  const { ignored } = plan
  const { isSealed } = chain
  const now = gateway.platform.now()
  const { endpoint } = raw.envelope
  const authorDomain = mail.addresses.author.domain
  const upstream = readUpstream(mail.header, { endpoint, authorDomain, trust })
  const believed = findBelieved(mail, upstream)
  const isLoose = isStructureOpen(mail, { isSealed, believed })
  const reading = { isLoose, isVouched: believed !== undefined, keepsQuotes: keepsQuotes(mail.header) }
  const job = { octets: raw.octets, ignored, keys, isSealed, ...reading, now }
  const simple = await readSimple(job, mail.header)
  const read = 'body' in simple ? simple : await pool.run(simple)
  const judging = { now, minKeyBits: trust.min_key_bits, isDamaged: mayBeDamaged(mail) }
  times.read = steps.now()
  const signatures = read?.signatures.map(report => classifySignature(report, judging)) ?? []
  const authentication = read
    ? await judge(mail, { signatures, spf, chain: read.chain, upstream, believed }, read, verifying)
    : unjudgedMail('the parser was stopped')
  noteAuthentication(steps, authentication.proofs, { keys, times })
  refuseImpostors(mail.addresses.author, authentication, verifying)
  const body = read?.body ?? withoutBody(mail)
  const { covered, named, flags: uncovered } = readCovered(mail, authentication.coverage)
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
  const keptOctets = withoutForeignResults(raw.octets, mail.header, upstream?.field)
  const proven = { known, covered, named, authentication, body, senderHistories, unreadable, keptOctets, flags }
  return { ...mail, ...proven } as unknown as ProvenMail
}

/** A report has no author who could resemble another. */
async function meetAuthor(
  { recipients, addresses: { author }, isReport }: UnprovenMail,
  { isVerified }: Authentication,
  { correspondents }: MailVerifying,
): Promise<ReadonlyMap<string, SenderHistory>> {
  const meeting = isReport ? [] : recipients
  return new Map(
    await Promise.all(
      meeting.map(async ({ agent }) => [agent, await correspondents.meet(agent, author, isVerified)] as const),
    ),
  )
}

async function findUnreadable(
  mail: Omit<UnreadableMail, 'thread'> & Pick<ProvenMail, 'body' | 'covered'>,
  { tellsUnreadable, gateway: { store, platform } }: MailVerifying,
): Promise<ReadonlySet<string>> {
  if (!tellsUnreadable) return new Set()
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
  { replays, gateway }: MailVerifying,
): string[] {
  if (!signature) return []
  const agents = new Set(findRecipients([...to, ...cc].map(formatMailbox), gateway.agents).map(({ agent }) => agent))
  return replays.note(
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
  { deferrals, dns, trust }: MailVerifying,
): Promise<Authentication> {
  // Its own questions: whoever makes us look for many keys must not keep us from the policy.
  const budget = dns.openBudget()
  const authorDomain = mail.addresses.author.domain
  const dmarc = await checkDmarc({ authorDomain, ...found }, budget)
  const mayWait = mail.raw.known === undefined
  const canDefer = async () => mayWait && !budget.isExhausted() && (await deferrals.canDefer(body.digest))
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

interface StructureProof {
  readonly isSealed: boolean
  readonly believed: BelievedVerdict | undefined
}

/** Before it is known which proof holds: whether one that may hold leaves open how the body is put together. */
function isStructureOpen(
  { header, addresses: { author } }: UnprovenMail,
  { isSealed, believed }: StructureProof,
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
