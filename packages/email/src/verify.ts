// Proves who wrote a mail, and reads its body.

import { networkOf } from '@postern/http'
import { Rejection } from '@postern/message'
import { noChain, planChain } from './arc/chain.ts'
import type { MayDefer } from './authenticate/deferrals.ts'
import type { MailEvidence } from './authenticate/evidence.ts'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import type { CheckTimes } from './authenticate/record-proofs.ts'
import { recordProofs } from './authenticate/record-proofs.ts'
import { findTrustedVerdict, mayLeaveStructureUnsigned, removeForeignResults } from './authenticate/trusted-verdict.ts'
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
import { hasInvisibleCharacters } from './mail/header-text.ts'
import type { Mailbox } from './mail/mailbox.ts'
import { formatMailbox } from './mail/mailbox.ts'
import type { RawMail } from './mail/raw-mail.ts'
import { findRecipient, findRecipients } from './mail/recipients.ts'
import { findRepeatedFields } from './mail/repeated-fields.ts'
import { isForwardSubject } from './mail/subjects.ts'
import type { MimeJob, MimeResult } from './mime/job.ts'
import type { SimpleReader } from './mime/simple-mail.ts'
import type { UnreadableMail } from './outgoing/unreadable-notice.ts'
import { chooseNotifyingAgents, encryptedFlags } from './outgoing/unreadable-notice.ts'
import { alignsWithoutPolicy } from './policy/alignment.ts'
import { checkDmarc } from './policy/dmarc.ts'
import type { MailDns } from './policy/mail-dns.ts'
import { checkSpf } from './policy/spf.ts'
import type { MailSender, MimePool } from './pool/pool.ts'
import { applyCoverage } from './signatures/coverage.ts'
import { fetchKeys } from './signatures/fetch-keys.ts'
import type { JudgeOptions } from './signatures/judge-signature.ts'
import { classifySignature } from './signatures/judge-signature.ts'
import { planSignatures } from './signatures/plan-signatures.ts'
import type { RecordSignature } from './signatures/signature-replays.ts'
import { mayBeDamaged } from './signatures/transit-damage.ts'

export interface VerifyMailDeps extends ReadMailDeps {
  readonly trust: MailTrust
  /** True if authors of encrypted mail are notified that it cannot be read. */
  readonly notifiesUnreadable: boolean
  readonly dns: MailDns
  readonly readSimple: SimpleReader
  readonly pool: MimePool
  readonly mayDefer: MayDefer
  readonly recordSignature: RecordSignature
  readonly compareAuthor: CompareAuthor
}

/**
 * Finds and proves the author of a message (RFC 6376, 7208, 9989). It reads the header first, then finds the
 * recipients, then queries DNS, and parses the body last. A message that is not simple is parsed in a worker thread.
 * @throws Rejection, Unavailable
 */
export async function verifyMail(raw: RawMail, deps: VerifyMailDeps): Promise<ProvenMail> {
  const mail = await readUnprovenMail(raw, deps)
  const originChecks = startOriginChecks(mail, deps)
  const [keys, spf] = await originChecks.results
  const evidence = readEvidence(mail, { ...originChecks, keys, spf }, deps)
  const result = await deps.readSimple(createParseJob(mail, evidence), mail.header)
  const parsedMail = 'body' in result ? result : await deps.pool.run(result, describeSender(mail, result, evidence))
  evidence.times.readAt = deps.steps.now()
  const authentication = parsedMail
    ? await judgeAuthor(mail, toMailEvidence(evidence, parsedMail), parsedMail, deps)
    : unjudgedAuthentication('the parser was stopped')
  recordProofs(deps.steps, authentication.proofs, evidence)
  refuseImpostors(mail.addresses.author, authentication, deps)
  const body = parsedMail?.body ?? createUnparsedBody(mail)
  const coverage = applyCoverage(mail.header, mail.addresses, authentication.coverage)
  const { signedHeader, signedRecipients } = coverage
  const historyFlags = mail.raw.historyFlags ?? [
    ...(await flagReusedId(mail, deps)),
    ...flagReplay({ ...mail, signedRecipients }, authentication, deps),
  ]
  const senderHistories = await compareWithCorrespondents(mail, authentication, deps)
  const notifyingAgents = await findNotifyingAgents({ ...mail, signedHeader, authentication, body }, deps)
  const flags = [
    ...evidence.plan.flags,
    ...listMailFlags(mail, deps),
    ...historyFlags,
    ...authentication.flags,
    ...coverage.flags,
    ...body.flags,
  ]
  const storedOctets = removeForeignResults(mail, evidence.upstream?.field)
  const findings = { signedHeader, signedRecipients, authentication, body, senderHistories, notifyingAgents }
  return { ...mail, ...findings, storedOctets, historyFlags, flags } as unknown as ProvenMail
}

/** The evidence about the origin of a mail that is known before the mail is parsed, and the plan of its signatures. */
interface EarlyEvidence extends Pick<MailEvidence, 'spf' | 'upstream' | 'trustedVerdict'> {
  readonly plan: ReturnType<typeof planSignatures>
  /** True if the ARC chain of the mail is verified. */
  readonly isSealed: boolean
  readonly keys: Awaited<ReturnType<typeof fetchKeys>>
  readonly judgeOptions: JudgeOptions
  readonly isSpfEnough: boolean
  readonly times: CheckTimes
}

/** Starts the DNS queries for the keys of the signatures and for SPF. `results` are the keys and the result of SPF. */
function startOriginChecks({ raw, ...mail }: UnprovenMail, deps: VerifyMailDeps) {
  const { dns, limits, trust, steps } = deps
  const authorDomain = mail.addresses.author.domain
  const chain = trust.arc_sealers.length > 0 ? planChain(mail.header, trust.arc_sealers) : noChain
  const plan = planSignatures(mail.header, authorDomain, { limits, chain })
  const keyBudget = dns.openBudget()
  void queryPolicyEarly({ raw, ...mail }, deps)
  const times: CheckTimes = { startedAt: steps.now(), cachedNames: dns.listCached(plan.keyNames) }
  const results = Promise.all([
    fetchKeys(plan, keyBudget),
    runSpfCheck(raw, deps).then(spf => {
      times.spfAt = steps.now()
      return spf
    }),
  ])
  return { plan, isSealed: chain.isSealed, times, results }
}

/** Adds the verdict of a trusted server to the results of the first checks. */
function readEvidence(
  mail: UnprovenMail,
  { plan, isSealed, times, keys, spf }: Pick<EarlyEvidence, 'plan' | 'isSealed' | 'times' | 'keys' | 'spf'>,
  { gateway, trust }: VerifyMailDeps,
): EarlyEvidence {
  const { raw, header, addresses } = mail
  const options = { endpoint: raw.envelope.endpoint, authorDomain: addresses.author.domain, trust }
  const upstream = trust.upstreams.length > 0 ? readUpstream(header, options) : undefined
  const trustedVerdict = findTrustedVerdict(mail, upstream)
  const judgeOptions = { now: gateway.system.now(), minKeyBits: trust.min_key_bits, isDamaged: mayBeDamaged(mail) }
  return { plan, isSealed, times, keys, spf, upstream, trustedVerdict, judgeOptions, isSpfEnough: trust.spf_only }
}

function createParseJob(
  mail: UnprovenMail,
  { plan, isSealed, keys, trustedVerdict, judgeOptions }: EarlyEvidence,
): MimeJob {
  return {
    octets: mail.raw.octets,
    ignoredRanges: plan.ignoredRanges,
    keys,
    isSealed,
    isStructureUnsigned: mayLeaveStructureUnsigned(mail, isSealed, trustedVerdict),
    isVouched: trustedVerdict !== undefined,
    keepsQuotes: keepsQuotes(mail.header),
    now: judgeOptions.now,
  }
}

/**
 * Describes the sender for the queue of the worker threads, from the evidence that is known before parsing. `signatures` are absent if the worker
 * thread verifies them.
 */
function describeSender(
  { raw, addresses: { author } }: UnprovenMail,
  { signatures = [] }: Pick<MimeJob, 'signatures'>,
  { spf, trustedVerdict, judgeOptions, isSpfEnough }: EarlyEvidence,
): MailSender {
  const isSigned = signatures.some(
    report =>
      classifySignature(report, judgeOptions).verdict === 'pass' && alignsWithoutPolicy(report.domain, author.domain),
  )
  const isProvenBySpf = isSpfEnough && spf?.result === 'pass' && alignsWithoutPolicy(spf.domain, author.domain)
  const { ip } = raw.envelope
  return { isProven: trustedVerdict !== undefined || isSigned || isProvenBySpf, network: ip && networkOf(ip) }
}

function toMailEvidence(
  { spf, upstream, trustedVerdict, judgeOptions }: EarlyEvidence,
  { signatures, chain }: MimeResult,
): Omit<MailEvidence, 'authorDomain' | 'dmarc'> {
  return {
    signatures: signatures.map(report => classifySignature(report, judgeOptions)),
    spf,
    chain,
    upstream,
    trustedVerdict,
  }
}

/**
 * Compares the author with the correspondents of each agent. A report has no author who could resemble a correspondent.
 */
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

async function findNotifyingAgents(
  mail: Omit<UnreadableMail, 'thread'> & Pick<ProvenMail, 'body' | 'signedHeader'>,
  { notifiesUnreadable, gateway: { store, system } }: VerifyMailDeps,
): Promise<ReadonlySet<string>> {
  if (!notifiesUnreadable || !mail.body.flags.some(flag => encryptedFlags.has(flag))) return new Set()
  const onceStore = { consumeOnce: store.consumeOnce.bind(store), now: () => system.now() }
  return chooseNotifyingAgents({ ...mail, thread: readThread(mail, mail.body.digest) }, onceStore)
}

/**
 * Flags a Message-ID that an earlier mail had. The new mail never replaces the earlier mail. A second copy of the same
 * mail is a duplicate, and is not stored.
 */
async function flagReusedId({ header, recipients }: UnprovenMail, { gateway }: VerifyMailDeps): Promise<string[]> {
  const messageId = readMessageId(header)
  if (!messageId) return []
  const messages = await Promise.all(recipients.map(({ agent }) => gateway.store.findMessageTo(agent, messageId)))
  return messages.some(message => message !== undefined) ? ['message_id_reused'] : []
}

/** Flags a repeated valid signature for a recipient whom its mail does not name. */
function flagReplay(
  { signedRecipients: { to, cc }, recipients }: Pick<ProvenMail, 'signedRecipients' | 'recipients'>,
  authentication: Authentication,
  { recordSignature, gateway }: VerifyMailDeps,
): string[] {
  const proofId = findProofId(authentication)
  if (proofId === undefined) return []
  const agents = new Set(findRecipients([...to, ...cc].map(formatMailbox), gateway.agents).map(({ agent }) => agent))
  return recordSignature(
    proofId,
    recipients.map(({ agent }) => ({ agent, isNamed: agents.has(agent) })),
  )
}

/**
 * Queries the DMARC policy at the same time as the keys, although it is needed last. The cache then has the record, or
 * its absence.
 */
async function queryPolicyEarly({ addresses: { author } }: UnprovenMail, { dns }: VerifyMailDeps): Promise<void> {
  await dns
    .openBudget()
    .resolve(`_dmarc.${author.domain}`, 'TXT')
    .catch(() => undefined)
}

function runSpfCheck({ envelope }: RawMail, { dns, gateway, limits }: VerifyMailDeps) {
  const budget = dns.openBudget()
  return checkSpf(envelope, { budget, mta: gateway.agents.domain, timeoutMs: limits.dns_timeout_ms * 3 })
}

async function judgeAuthor(
  { raw, isReport, addresses }: UnprovenMail,
  evidence: Omit<MailEvidence, 'authorDomain' | 'dmarc'>,
  { body }: MimeResult,
  { mayDefer, dns, trust }: VerifyMailDeps,
): Promise<Authentication> {
  // The policy has its own budget, because a mail that needs many keys must not use up the queries for the policy.
  const budget = dns.openBudget()
  const authorDomain = addresses.author.domain
  const dmarc = await checkDmarc({ authorDomain, ...evidence }, budget)
  const isNewMail = raw.historyFlags === undefined
  const canDefer = async () => isNewMail && !budget.isExhausted() && (await mayDefer(body.digest))
  return judgeMail(
    { ...evidence, authorDomain, dmarc },
    { canDefer, isReport, isSpfEnough: trust.spf_only, rejectDisposition: trust.dmarc_reject },
  )
}

/** Refuses mail in the name of a local agent, unless a signature of the gateway proves the author. */
function refuseImpostors(author: Mailbox, { isVerified }: Authentication, { gateway }: VerifyMailDeps): void {
  const isOwnAgent = findRecipient(`${author.local}@${author.domain}`, gateway.agents) !== undefined
  if (isOwnAgent && !isVerified)
    throw new Rejection('forbidden', 'Cannot accept mail: its From is one of our own agents')
}

/**
 * Returns true if the text of a mail keeps its quotes. The quotes in a reply are in the thread already, but a forwarded
 * mail is about its quotes.
 */
function keepsQuotes(header: HeaderBlock): boolean {
  const isReply = findField(header, 'in-reply-to') !== undefined || findField(header, 'references') !== undefined
  return !isReply || isForwardSubject(findField(header, 'subject') ?? '')
}

function listMailFlags({ header, addresses: { author } }: UnprovenMail, { gateway }: VerifyMailDeps): string[] {
  const repeatedFlags = findRepeatedFields(header).length > 0 ? ['duplicate_header'] : []
  const isHiding = ['from', 'subject'].some(name => hasInvisibleCharacters(findField(header, name) ?? ''))
  return [...repeatedFlags, ...(isHiding ? ['invisible_characters'] : []), ...findLookAlikes(author, gateway.agents)]
}

function createUnparsedBody({ raw, header }: UnprovenMail): MailBody {
  const digest = digestContent(toBuffer(raw.octets), header)
  return { text: '', files: [], details: {}, flags: ['parser_killed'], digest }
}
