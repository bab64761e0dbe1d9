import type { Verdict } from '../../checks/finding.ts'
import { ok, warning } from '../../checks/finding.ts'
import { noTrustedProxy, trustsNoProxy } from '../../config/trusted-proxies.ts'
import { untrustedProxyFix } from '../../http/unknown-proxies.ts'
import type { ConfiguredClient } from '../client.ts'
import { proxyOperations } from './operations.ts'

/** Whether the gateway can tell its clients apart behind the proxy that ends TLS. */
export async function checkProxies({ config, call }: ConfiguredClient): Promise<Verdict> {
  const { unknown } = await call(proxyOperations.list, {})
  if (unknown.length > 0)
    return warning(`forwarded requests come from ${unknown.join(', ')}, which is not trusted`, untrustedProxyFix)
  if (trustsNoProxy(config)) return warning(noTrustedProxy.message, noTrustedProxy.fix)
  return ok('the clients behind the proxy are told apart')
}
