import type { ProtocolVersion } from './version.ts'

interface WireInterface {
  readonly url: string
  readonly protocolBinding: string
  readonly protocolVersion: string
}

type Bindings = Readonly<Record<ProtocolVersion, readonly (readonly [binding: string, path: string])[]>>

const bindings: Bindings = {
  '1.0': [
    ['JSONRPC', ''],
    ['HTTP+JSON', '/rest'],
  ],
  '0.3': [['JSONRPC', '']],
}

/** Where an agent is reached, in the order of preference (A2A §4.4.6). */
export function renderInterfaces(endpoint: string, versions: readonly ProtocolVersion[]): readonly WireInterface[] {
  return versions.flatMap(protocolVersion =>
    bindings[protocolVersion].map(([protocolBinding, path]) => ({
      url: endpoint + path,
      protocolBinding,
      protocolVersion,
    })),
  )
}
