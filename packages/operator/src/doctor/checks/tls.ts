// Checks the TLS certificates of the public hosts.
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { Check } from '../check.ts'
import { outcomeFor, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { Handshake } from '../network/handshake.ts'
import { shakeHands } from '../network/handshake.ts'
import { listOwnHosts } from '../network/hosts.ts'
import type { CheckOutcome } from '../report.ts'

export const tlsChecks: readonly Check[] = [
  {
    id: 'tls.chain',
    description: 'The certificate is for the host, and its chain leads to an authority that everybody knows.',
    fix: 'Serve the whole chain (`fullchain.pem`) of a certificate for the host, such as from Let’s Encrypt.',
    needs: ['outside'],
    run: deps => judgeHosts(deps, judgeChain, describeMissingTls),
  },
  {
    id: 'tls.expiry',
    description: 'The certificate is valid for two more weeks.',
    fix: 'Renew it, and let the program that renews it run by itself.',
    needs: ['outside'],
    run: deps => judgeHosts(deps, (host, handshake) => judgeExpiry(host, handshake, deps.now())),
  },
  {
    id: 'tls.versions',
    description: 'The server speaks TLS 1.2 or 1.3, and nothing older (RFC 8996).',
    fix: 'In nginx: `ssl_protocols TLSv1.2 TLSv1.3;`.',
    needs: ['outside'],
    run: deps => judgeHosts(deps, (host, handshake) => judgeVersions(host, handshake, deps)),
  },
]

const dayMs = 86_400_000

type Judge = (host: string, handshake: Handshake) => Promise<Verdict> | Verdict

/** Skips a host without TLS, which `tls.chain` reports once. */
const skipWithoutTls = (host: string) => skip(host, 'it does not speak TLS; see tls.chain')

async function judgeHosts(
  deps: DoctorDeps,
  judge: Judge,
  describeFailure: (host: string, error: unknown) => CheckOutcome = skipWithoutTls,
): Promise<readonly CheckOutcome[]> {
  return Promise.all(
    listOwnHosts(deps).map(async host => {
      try {
        return outcomeFor(host, await judge(host, await shakeHands(host, deps.network)))
      } catch (error) {
        return describeFailure(host, error)
      }
    }),
  )
}

function describeMissingTls(host: string, error: unknown): CheckOutcome {
  const fix = 'Let the proxy end TLS on port 443 with a certificate for this host.'
  return outcomeFor(host, failure(`${host} does not speak TLS: ${describeError(error)}`, fix))
}

const trustErrorTexts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain ends with an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its chain is incomplete, or ends with an unknown authority',
}

function judgeChain(host: string, { trustError, issuer }: Handshake): Verdict {
  if (trustError === undefined) return ok(`the certificate of ${host} is by ${issuer}, and its chain is complete`)
  const fix = `Serve the whole chain of a certificate for ${host} that a public authority has issued.`
  return failure(`peers do not trust the certificate of ${host}: ${trustErrorTexts[trustError] ?? trustError}`, fix)
}

function judgeExpiry(host: string, { validUntil }: Handshake, now: number): Verdict {
  const days = Math.floor((validUntil - now) / dayMs)
  const fix = 'Renew it, and look after the program that should have: certbot renew, or the log of Caddy.'
  if (days < 0) return failure(`the certificate of ${host} has expired ${-days} days ago`, fix)
  const observation = `the certificate of ${host} expires in ${days} days`
  if (days < 3) return failure(observation, fix)
  return days < 14 ? warning(observation, fix) : ok(observation)
}

async function judgeVersions(host: string, { protocol }: Handshake, { network }: DoctorDeps): Promise<Verdict> {
  const legacyHandshake = await shakeHands(host, network, { isLegacy: true }).catch(() => undefined)
  return legacyHandshake
    ? warning(`${host} still speaks ${legacyHandshake.protocol}`, 'Allow TLS 1.2 and 1.3 only (RFC 8996).')
    : ok(`${host} speaks ${protocol}, and nothing older than TLS 1.2`)
}
