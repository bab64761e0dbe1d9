import type { ProtocolVersion } from '../format/wire.ts'

interface WireInterface {
  readonly url: string
  readonly protocolBinding: string
  readonly protocolVersion: string
  readonly tenant?: string
}

type Bindings = Readonly<Record<ProtocolVersion, readonly (readonly [binding: string, path: string])[]>>

const bindings: Bindings = {
  '1.0': [
    ['JSONRPC', ''],
    ['HTTP+JSON', '/rest'],
  ],
  '0.3': [['JSONRPC', '']],
}

export interface Endpoints {
  /** JSON-RPC. */
  readonly endpoint: string
  /** Host and port of the gRPC service, if there is one. */
  readonly grpcAddress?: string | undefined
  /** The agent's tenant in the gRPC service; undefined for the default agent. */
  readonly tenant?: string | undefined
}

/** The addresses of an agent, in order of preference (A2A §4.4.6). */
export function renderInterfaces(
  { endpoint, grpcAddress, tenant }: Endpoints,
  versions: readonly ProtocolVersion[],
): readonly WireInterface[] {
  const rows = versions.flatMap(protocolVersion =>
    bindings[protocolVersion].map(([protocolBinding, path]) => ({
      url: endpoint + path,
      protocolBinding,
      protocolVersion,
    })),
  )
  if (grpcAddress === undefined) return rows
  const grpc = { url: grpcAddress, protocolBinding: 'GRPC', protocolVersion: '1.0', ...(tenant && { tenant }) }
  return [...rows, grpc]
}
