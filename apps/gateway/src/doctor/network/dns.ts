import { isPublicAddress } from '@postern/http'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { findAddresses, listOwnHosts } from './hosts.ts'

/** Whether everybody finds the hosts of the gateway. */
export async function checkAddresses(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  return Promise.all(
    listOwnHosts(deps).map(async host => {
      const [a, aaaa] = await Promise.all([
        findAddresses(host, 'A', deps.outside),
        findAddresses(host, 'AAAA', deps.outside),
      ])
      return about(host, judgeAddresses(host, a, aaaa))
    }),
  )
}

function judgeAddresses(host: string, a: readonly string[] | undefined, aaaa: readonly string[] | undefined): Verdict {
  const fix = `Publish an A record for ${host} (and AAAA for IPv6) with the public address of your server.`
  if (a === undefined && aaaa === undefined)
    return failure(`the name servers of ${host} do not answer`, 'Look after the name servers of the domain.')
  const found = [...(a ?? []), ...(aaaa ?? [])]
  if (found.length === 0) return failure(`${host} has no address: nobody finds it`, fix)
  const hidden = found.filter(address => !isPublicAddress(address))
  if (hidden.length > 0) return failure(`${host} leads to ${hidden.join(', ')}, which peers cannot reach`, fix)
  return a?.length === 0
    ? warning(`${host} has IPv6 addresses only: many peers have none`, `Publish an A record for ${host}.`)
    : ok(`${host} leads to ${found.join(', ')}`)
}
