import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import type { UnknownProxies } from '../../http/unknown-proxies.ts'
import { proxyOperations } from './operations.ts'

/** Which private peers pass forwarded requests on without being trusted. */
export function createProxyRoutes(proxies: Pick<UnknownProxies, 'list'>): readonly OperatorRoute[] {
  return [handleOperation(proxyOperations.list, async () => ({ unknown: proxies.list() }))]
}
