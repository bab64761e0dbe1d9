import type { Proof } from '@postern/core'
import type { JudgedSignature, SignatureVerdict } from './dkim/classify.ts'
import type { MailEvidence } from './evidence.ts'

const wireVerdicts: Readonly<Record<SignatureVerdict, Proof['verdict']>> = {
  pass: 'pass',
  fail: 'fail',
  weak: 'policy',
  undersized: 'policy',
  testing: 'policy',
  not_yet: 'policy',
  not_from: 'neutral',
  expired: 'neutral',
  malformed: 'neutral',
  no_key: 'permerror',
  dns_trouble: 'temperror',
  unverifiable: 'unverifiable',
}

/** The checks of a message as the operator sees them (EM-7.2). */
export function listProofs(evidence: MailEvidence, isAligned: (signature: JudgedSignature) => boolean): Proof[] {
  const signatures = evidence.signatures.map(signature => proofOfSignature(signature, isAligned(signature)))
  const unsigned: Proof = { kind: 'dkim', verdict: 'none', reason: 'not signed' }
  const found = signatures.length > 0 ? signatures : [unsigned]
  return [
    ...found,
    proofOfSpf(evidence),
    proofOfDmarc(evidence),
    ...proofsOfChain(evidence),
    ...proofsOfUpstream(evidence),
  ]
}

/** Shown only where a chain was judged at all. */
function proofsOfChain({ chain }: MailEvidence): Proof[] {
  if (!chain) return []
  const { result, comment, instances, dmarc } = chain
  const reason = result === 'pass' ? undefined : comment
  return [{ kind: 'arc', verdict: result, reason, key_id: formatKeyId(chain), instances, dmarc: dmarc?.result }]
}

/** A pass that does not count says why. */
function proofsOfUpstream({ upstream, authorDomain }: MailEvidence): Proof[] {
  if (!upstream) return []
  const { authservId, dmarc, isProven } = upstream
  const verdict = isProven ? 'pass' : dmarc === 'pass' ? 'policy' : dmarc === 'fail' ? 'fail' : 'none'
  const reason = verdict === 'policy' ? 'by SPF alone' : undefined
  return [{ kind: 'authentication-results', verdict, reason, domain: authorDomain, key_id: `authserv:${authservId}` }]
}

/** `d=<domain>/s=<selector>`: how a signature's key is named everywhere. */
export function formatKeyId({ domain, selector }: Pick<JudgedSignature, 'domain' | 'selector'>): string {
  return `d=${domain}/s=${selector}`
}

function proofOfSignature(signature: JudgedSignature, aligned: boolean): Proof {
  const { verdict, fault, dnsCode, domain, algorithm, bits, covers, id } = signature
  const reason = [verdict, fault, dnsCode].filter(Boolean).join(': ')
  return {
    kind: 'dkim',
    verdict: wireVerdicts[verdict],
    reason: verdict === 'pass' ? undefined : reason,
    key_id: formatKeyId(signature),
    domain,
    aligned,
    algorithm,
    bits,
    covers,
    signature_id: id,
  }
}

function proofOfSpf({ spf, authorDomain }: MailEvidence): Proof {
  if (!spf) return { kind: 'spf', verdict: 'unverifiable', reason: 'client address or envelope sender not known' }
  return { kind: 'spf', verdict: spf.result, domain: spf.domain, ip: spf.ip, aligned: spf.domain === authorDomain }
}

function proofOfDmarc({ dmarc, authorDomain }: MailEvidence): Proof {
  const { result, policy, alignedSigners, isSpfAligned } = dmarc
  const alignedBy = [...(alignedSigners.size > 0 ? ['dkim'] : []), ...(isSpfAligned ? ['spf'] : [])]
  return { kind: 'dmarc', verdict: result, domain: authorDomain, policy, aligned_by: alignedBy }
}
