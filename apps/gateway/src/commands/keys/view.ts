import type { OperationAnswer } from '../../api/operation.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { keyOperations } from './route.ts'

type Keys = OperationAnswer<typeof keyOperations.list>

export function printKeys(output: ApiOutput): Promise<void> {
  return printAnswer(output, keyOperations.list, {}, formatKeys)
}

/** New keys for one agent, or for all there are; with `revoke` the old ones count no more from now on. */
export function rotateAllKeys(
  output: ApiOutput,
  { agent, revoke }: { readonly agent: string | undefined; readonly revoke: boolean },
): Promise<void> {
  const input = { body: { agent, revoke } }
  return printAnswer(output, keyOperations.rotate, input, rotated => formatRotated(rotated, revoke))
}

function formatRotated(rotated: Keys, isRevoking: boolean): string {
  const disposition = isRevoking ? 'are not published any more' : 'stay published for a week'
  const publish = rotated.keys.some(({ dns }) => dns)
    ? ' Publish the DNS records now: what is signed is checked there.'
    : ''
  return `${formatKeys(rotated)}\n\nThese sign from now on; the old ones ${disposition}.${publish}`
}

function formatKeys({ keys }: Keys): string {
  return keys
    .map(({ purpose, id, algorithm, publicKey, dns }) =>
      [
        `${purpose}: ${id} (${algorithm})`,
        publicKey.trim(),
        ...(dns ? [`DNS  ${dns.name}  ${dns.type}  "${dns.value}"`] : []),
      ].join('\n'),
    )
    .join('\n\n')
}
