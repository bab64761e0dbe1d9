// Proves who wrote a mail, and reads its body.

import { networkOf } from '@postern/http'
import { Rejection } from '@postern/message'
import { noChain, planChain } from './arc/chain.ts'
import type { MayDefer } from './authenticate/deferrals.ts'
import type { MailEvidence } from './authenticate/evidence.ts'
import type { MailTimes } from './authenticate/note-proofs.ts'
import { noteAuthentication } from './authenticate/note-proofs.ts'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import { findTrustedVerdict, isStructureOpen, withoutForeignResults } from './authenticate/trusted-verdict.ts'
import { readUpstream } from './authenticate/upstream.ts'
import type { Authentication } from './authenticate/verdict.ts'
import { findProofId, judgeMail, unjudgedAuthentication } from './authenticate/verdict.ts'
import type { MailBody } from './body/mail-body.ts'
import type { MailTrust } from './config/trust.ts'
import type { CompareAuthor, SenderHistory } from './correspondents/correspondents.ts'
import { findLookAlikes } from './correspondents/look-alikes.ts'
import { readMessageId, readThread } from './intake/thread.ts'
import type { ReadMailDeps, UnprovenMail } from './intake/unproven-mail.ts'
import { readUnprovenMail } from './intake/unproven-mail.ts'
import { toBuffer } from './mail/buffers.ts'
import { digestContent } from './mail/content-digest.ts'
import type { HeaderBlock } from './mail/header.ts'
import { findField } from './mail/header.ts'
import { hidesInHeader } from './mail/header-text.ts'
import type { Mailbox } from './mail/mailbox.ts'
import { formatMailbox } from './mail/mailbox.ts'
import type { RawMail } from './mail/raw-mail.ts'
import { findRecipient, findRecipients } from './mail/recipients.ts'
import { findRepeatedFields } from './mail/repeated-fields.ts'
import { isForwardSubject } from './mail/subjects.ts'
import type { MimeJob, MimeResult } from './mime/job.ts'
import type { SimpleReader } from './mime/simple-mail.ts'
import type { UnreadableMail } from './out/unreadable.ts'
import { chooseUnreadable, encryptedFlags } from './out/unreadable.ts'
import { alignsWithoutPolicy } from './policy/alignment.ts'
import { checkDmarc } from './policy/dmarc.ts'
import type { MailDns } from './policy/mail-dns.ts'
import { checkSpf } from './policy/spf.ts'
import type { MailSender, MimePool } from './pool/pool.ts'
import { readCovered } from './signatures/coverage.ts'
import { fetchKeys } from './signatures/fetch-keys.ts'
import type { JudgeOptions } from './signatures/judge-signature.ts'
import { classifySignature } from './signatures/judge-signature.ts'
import { planSignatures } from './signatures/plan-signatures.ts'
import type { NoteSignature } from './signatures/signature-replays.ts'
import { mayBeDamaged } from './signatures/transit-damage.ts'

export interface VerifyMailDeps extends ReadMailDeps {
  readonly trust: MailTrust
  /** True if authors of encrypted mail are notified that it cannot be read. */
  readonly notifiesUnreadable: boolean
  readonly dns: MailDns
  readonly readSimple: SimpleReader
  readonly pool: MimePool
  readonly mayDefer: MayDefer
  readonly noteSignature: NoteSignature
  readonly compareAuthor: CompareAuthor
}

/**
 * Finds and proves the author of a message (RFC 6376, 7208, 9989). It reads the header first, then finds the
 * recipients, then asks DNS, and does the heavy work last. A message that is not simple is parsed in a worker thread.
 * @throws Rejection, Unavailable
 */
export async function verifyMail(raw: RawMail, deps: VerifyMailDeps): Promise<ProvenMail> {
  const mail = await readUnprovenMail(raw, deps)
  const { gateway, pool, readSimple, limits, trust, steps } = deps
  const chain = trust.arc_sealers.length > 0 ? planChain(mail.header, trust.arc_sealers) : noChain
  const plan = planSignatures(mail.header, mail.addresses.author.domain, { limits, chain })
  const keyBudget = deps.dns.openBudget()
  void queryPolicyEarly(mail, deps)
  const times: MailTimes = { startedAt: steps.now(), cachedNames: deps.dns.listCached(plan.keyNames) }
  const [keys, spf] = await Promise.all([
    fetchKeys(plan, keyBudget),
    runSpf(raw, deps).finally(() => {
      times.spfAt = steps.now()
    }),
  ])
  const { isSealed } = chain
  const now = gateway.system.now()
  const { endpoint } = raw.envelope
  const authorDomain = mail.addresses.author.domain
  const upstream = trust.upstreams.length > 0 ? readUpstream(mail.header, { endpoint, authorDomain, trust }) : undefined
  const trustedVerdict = findTrustedVerdict(mail, upstream)
  const isLoose = isStructureOpen(mail, isSealed, trustedVerdict)
  const parseOptions = { isLoose, isVouched: trustedVerdict !== undefined, keepsQuotes: keepsQuotes(mail.header) }
  const job = { octets: raw.octets, ignoredRanges: plan.ignoredRanges, keys, isSealed, ...parseOptions, now }
  const simpleResult = await readSimple(job, mail.header)
  const judgeOptions = { now, minKeyBits: trust.min_key_bits, isDamaged: mayBeDamaged(mail) }
  const earlyEvidence = { signatures: simpleResult.signatures, spf, trustedVerdict, judgeOptions, trust }
  const parsedMail =
    'body' in simpleResult ? simpleResult : await pool.run(simpleResult, describeSender(mail, earlyEvidence))
  times.readAt = steps.now()
  const signatures = parsedMail?.signatures.map(report => classifySignature(report, judgeOptions)) ?? []
  const authentication = parsedMail
    ? await judge(mail, { signatures, spf, chain: parsedMail.chain, upstream, trustedVerdict }, parsedMail, deps)
    : unjudgedAuthentication('the parser was stopped')
  noteAuthentication(steps, authentication.proofs, keys, times)
  refuseImpostors(mail.addresses.author, authentication, deps)
  const body = parsedMail?.body ?? withoutBody(mail)
  const coverage = readCovered(mail.header, mail.addresses, authentication.coverage)
  const { signedHeader, signedRecipients } = coverage
  const historyFlags = raw.historyFlags ?? [
    ...(await noteReuse(mail, deps)),
    ...noteReplay({ ...mail, signedRecipients }, authentication, deps),
  ]
  const senderHistories = await compareWithCorrespondents(mail, authentication, deps)
  const unreadable = await findUnreadable({ ...mail, signedHeader, authentication, body }, deps)
  const flags = [
    ...plan.flags,
    ...listMailFlags(mail, deps),
    ...historyFlags,
    ...authentication.flags,
    ...coverage.flags,
    ...body.flags,
  ]
  const storedOctets = withoutForeignResults(mail, upstream?.field)
  const findings = { historyFlags, signedHeader, signedRecipients, authentication, body, senderHistories, unreadable }
  return { ...mail, ...findings, storedOctets, flags } as unknown as ProvenMail
}

interface EarlyEvidence extends Pick<MailEvidence, 'spf' | 'trustedVerdict'> {
  /** Signatures that are computed already. They are absent if the worker thread computes them. */
  readonly signatures: MimeJob['signatures']
  readonly judgeOptions: JudgeOptions
  readonly trust: MailTrust
}

/** Describes the sender for the queue of the worker threads, from the evidence that is known before parsing. */
function describeSender(
  { raw, addresses: { author } }: UnprovenMail,
  { signatures = [], spf, trustedVerdict, judgeOptions, trust }: EarlyEvidence,
): MailSender {
  const isSigned = signatures.some(
    report =>
      classifySignature(report, judgeOptions).verdict === 'pass' && alignsWithoutPolicy(report.domain, author.domain),
  )
  const isProvenBySpf = trust.spf_only && spf?.result === 'pass' && alignsWithoutPolicy(spf.domain, author.domain)
  const { ip } = raw.envelope
  return { isProven: trustedVerdict !== undefined || isSigned || isProvenBySpf, network: ip && networkOf(ip) }
}

/** Compares the author with the correspondents of each agent. A report has no author who could resemble another. */
async function compareWithCorrespondents(
  { recipients, addresses: { author }, isReport }: UnprovenMail,
  { isVerified }: Authentication,
  { compareAuthor }: VerifyMailDeps,
): Promise<ReadonlyMap<string, SenderHistory>> {
  const comparedRecipients = isReport ? [] : recipients
  return new Map(
    await Promise.all(
      comparedRecipients.map(async ({ agent }) => [agent, await compareAuthor(agent, author, isVerified)] as const),
    ),
  )
}

async function findUnreadable(
  mail: Omit<UnreadableMail, 'thread'> & Pick<ProvenMail, 'body' | 'signedHeader'>,
  { notifiesUnreadable, gateway: { store, system } }: VerifyMailDeps,
): Promise<ReadonlySet<string>> {
  if (!notifiesUnreadable || !mail.body.flags.some(flag => encryptedFlags.has(flag))) return new Set()
  const onceStore = { consumeOnce: store.consumeOnce.bind(store), now: () => system.now() }
  return chooseUnreadable({ ...mail, thread: readThread(mail, mail.body.digest) }, onceStore)
}

/** Flags a Message-ID that an earlier mail had. The new mail never replaces the earlier one. A second copy of the same mail is not stored. */
async function noteReuse({ header, recipients }: UnprovenMail, { gateway }: VerifyMailDeps): Promise<string[]> {
  const messageId = readMessageId(header)
  if (!messageId) return []
  const messages = await Promise.all(recipients.map(({ agent }) => gateway.store.findMessageTo(agent, messageId)))
  return messages.some(message => message !== undefined) ? ['message_id_reused'] : []
}

/** Flags a repeated valid signature for a recipient whom its mail does not name. */
function noteReplay(
  { signedRecipients: { to, cc }, recipients }: Pick<ProvenMail, 'signedRecipients' | 'recipients'>,
  authentication: Authentication,
  { noteSignature, gateway }: VerifyMailDeps,
): string[] {
  const proofId = findProofId(authentication)
  if (proofId === undefined) return []
  const agents = new Set(findRecipients([...to, ...cc].map(formatMailbox), gateway.agents).map(({ agent }) => agent))
  return noteSignature(
    proofId,
    recipients.map(({ agent }) => ({ agent, isNamed: agents.has(agent) })),
  )
}

/** Queries the DMARC policy together with the keys, although it is judged last. The cache then has the record, or knows that it is absent. */
async function queryPolicyEarly({ addresses: { author } }: UnprovenMail, { dns }: VerifyMailDeps): Promise<void> {
  await dns
    .openBudget()
    .resolve(`_dmarc.${author.domain}`, 'TXT')
    .catch(() => undefined)
}

function runSpf({ envelope }: RawMail, { dns, gateway, limits }: VerifyMailDeps) {
  const budget = dns.openBudget()
  return checkSpf(envelope, { budget, mta: gateway.agents.domain, timeoutMs: limits.dns_timeout_ms * 3 })
}

async function judge(
  mail: UnprovenMail,
  evidence: Omit<MailEvidence, 'authorDomain' | 'dmarc'>,
  { body }: MimeResult,
  { mayDefer, dns, trust }: VerifyMailDeps,
): Promise<Authentication> {
  // The policy has its own budget, because a mail that needs many keys must not use up the questions for the policy.
  const budget = dns.openBudget()
  const authorDomain = mail.addresses.author.domain
  const dmarc = await checkDmarc({ authorDomain, ...evidence }, budget)
  const isNewMail = mail.raw.historyFlags === undefined
  const canDefer = async () => isNewMail && !budget.isExhausted() && (await mayDefer(body.digest))
  return judgeMail(
    { ...evidence, authorDomain, dmarc },
    { canDefer, isReport: mail.isReport, isSpfEnough: trust.spf_only, rejectDisposition: trust.dmarc_reject },
  )
}

/** Refuses mail in the name of a local agent unless the gateway has signed it. */
function refuseImpostors(author: Mailbox, { isVerified }: Authentication, { gateway }: VerifyMailDeps): void {
  const isOurs = findRecipient(`${author.local}@${author.domain}`, gateway.agents) !== undefined
  if (isOurs && !isVerified) throw new Rejection('forbidden', 'Cannot accept mail: its From is one of our own agents')
}

/** Returns true if the quotes of a mail are kept. The quotes in a reply are known already, but a forwarded message is about its quotes. */
function keepsQuotes(header: HeaderBlock): boolean {
  const isReply = findField(header, 'in-reply-to') !== undefined || findField(header, 'references') !== undefined
  return !isReply || isForwardSubject(findField(header, 'subject') ?? '')
}

function listMailFlags({ header, addresses: { author } }: UnprovenMail, { gateway }: VerifyMailDeps): string[] {
  const repeatedFlags = findRepeatedFields(header).length > 0 ? ['duplicate_header'] : []
  const isHiding = ['from', 'subject'].some(name => hidesInHeader(findField(header, name) ?? ''))
  return [...repeatedFlags, ...(isHiding ? ['invisible_characters'] : []), ...findLookAlikes(author, gateway.agents)]
}

function withoutBody({ raw, header }: UnprovenMail): MailBody {
  const digest = digestContent(toBuffer(raw.octets), header)
  return { text: '', files: [], details: {}, flags: ['parser_killed'], digest }
}
