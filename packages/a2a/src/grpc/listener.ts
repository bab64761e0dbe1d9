// Serves A2A over gRPC on a socket of its own.
import { readFile } from 'node:fs/promises'
import type { ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js'
import { networkOf } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import { ConfigError, Rejection } from '@postern/message'
import type { ListeningSocket } from '@postern/pipeline'
import { createIntakeSteps } from '@postern/pipeline'
import type { GrpcConfig } from '../config.ts'
import type { LargeAnswers } from '../endpoint/answers.ts'
import type { AdmittedCall, EndpointDeps } from '../endpoint/call.ts'
import { listenerKeyOf } from '../endpoint/call.ts'
import { recordFailure, recordRefusedCall } from '../endpoint/record-call.ts'
import type { WireStreamEvent } from '../format/wire.ts'
import type { Operations } from '../operations/operation.ts'
import { findOperation } from '../operations/operations.ts'
import { EventStream, maxPendingBytes, minPendingEvents } from '../streams/sse.ts'
import { guardConnections } from './connection-guard.ts'
import type { CallerCheck, LimitAddress } from './enter.ts'
import { admitGrpcCall, createCallerCheck } from './enter.ts'
import type { GrpcMethod } from './methods.ts'
import { grpcMethods } from './methods.ts'
import { addOpenServices, isOpenService } from './open-services.ts'
import { guardResets } from './reset-guard.ts'
import { readPeer, toGrpcError } from './status.ts'

interface GrpcDeps extends EndpointDeps {
  readonly operations: Operations
  readonly largeAnswers: Pick<LargeAnswers, 'reserve'>
}

interface ServiceDeps extends GrpcDeps {
  readonly callerCheck: CallerCheck
}

/** The most open calls of one connection. */
const maxCalls = 200
const keepaliveMs = 30_000
/** The time after which a connection without calls is closed, ms. */
const maxIdleMs = 5 * 60_000
const defaultCallsPerMinute = 6_000
/** The time for which open calls may continue after the listener has begun to close, ms. */
const closeTimeoutMs = 2_000

/** Opens the gRPC binding (A2A §10) on a socket of its own. @throws ConfigError if the certificate cannot be used; the error of the socket */
export async function openGrpcListener(config: GrpcConfig, deps: GrpcDeps): Promise<ListeningSocket> {
  const limitAddress = createAddressLimit(config, deps)
  const callerCheck = createCallerCheck({ ...deps, limitAddress })
  const server = new Server({
    interceptors: [callerCheck.interceptor],
    'grpc.max_receive_message_length': deps.config.limits.body_bytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': maxCalls,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.max_connection_idle_ms': maxIdleMs,
  })
  server.addService(defineService(), createHandlers({ ...deps, callerCheck }))
  const endServing = addOpenServices(server)
  const port = await bindServer(server, config)
  // A proxy's connections and streams serve all its clients, so the proxy must limit connections and resets itself.
  const endGuard = config.behind_proxy ? () => {} : guardListener(port, limitAddress, deps)
  return {
    label: 'a2a',
    description: `A2A gRPC ${config.host}:${port}`,
    port,
    release: () => {
      endServing()
      return new Promise(resolve => server.tryShutdown(() => resolve()))
    },
    async close() {
      endServing()
      await closeServer(server, deps)
      endGuard()
    },
  }
}

const callPaths: ReadonlySet<string> = new Set(grpcMethods.map(({ path }) => path))

function guardListener(port: number, limitAddress: LimitAddress, { gateway }: GrpcDeps): () => void {
  const { system } = gateway
  const record = (refusal: unknown, from: string) =>
    recordRefusedCall(refusal, { from, binding: 'GRPC', steps: createIntakeSteps(system), request: {} }, gateway)
  const endConnections = guardConnections({ port, onRefused: record })
  const endResets = guardResets({
    port,
    now: () => system.now(),
    limitAddress,
    isCall: path => callPaths.has(path) || isOpenService(path),
    onClosed: from =>
      record(new Rejection('rate_limited', 'Cannot continue connection: it resets most of its streams'), from),
  })
  return () => {
    endConnections()
    endResets()
  }
}

async function bindServer(server: Server, { host, port, tls }: GrpcConfig): Promise<number> {
  const credentials = tls ? await readCredentials(tls) : ServerCredentials.createInsecure()
  const name = host.includes(':') ? `[${host}]` : host
  return new Promise((resolve, reject) => {
    server.bindAsync(`${name}:${port}`, credentials, (error, boundPort) => (error ? reject(error) : resolve(boundPort)))
  })
}

async function readCredentials({ certificate, key }: NonNullable<GrpcConfig['tls']>): Promise<ServerCredentials> {
  try {
    const [cert_chain, private_key] = await Promise.all([readFile(certificate), readFile(key)])
    return ServerCredentials.createSsl(null, [{ cert_chain, private_key }])
  } catch (cause) {
    throw new ConfigError(
      'a2a.grpc.tls',
      'names files that cannot be used',
      'Name a certificate chain and its key, in PEM.',
      {
        cause,
      },
    )
  }
}

async function closeServer(server: Server, { gateway: { system } }: GrpcDeps): Promise<void> {
  const closeSignal = new AbortController()
  const shutdown = new Promise<void>(resolve => server.tryShutdown(() => resolve())).then(() => closeSignal.abort())
  await Promise.race([shutdown, system.sleep(closeTimeoutMs, closeSignal.signal)])
  server.forceShutdown()
}

/** Creates the limit of calls for each address. Behind a proxy, all callers share its address. */
function createAddressLimit(
  { per_address, behind_proxy }: GrpcConfig,
  { gateway: { system } }: GrpcDeps,
): LimitAddress {
  const perMinute = per_address ?? (behind_proxy ? undefined : defaultCallsPerMinute)
  const limit = perMinute === undefined ? undefined : createRateLimit({ perMinute }, () => system.now())
  return address => limit?.consume(networkOf(address))
}

/** Defines the service with requests as bytes, because they are not parsed until the caller is verified. */
function defineService() {
  const identity = (bytes: Buffer) => bytes
  const rawSerialization = {
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  }
  const rows = grpcMethods.map(({ operation, path }) => [
    operation,
    { path, requestStream: false, responseStream: true, ...rawSerialization },
  ])
  return Object.fromEntries(rows)
}

function createHandlers(deps: ServiceDeps): UntypedServiceImplementation {
  return Object.fromEntries(grpcMethods.map(method => [method.operation, createHandler(method, deps)]))
}

/** Creates the handler of a method. A unary answer is a stream of one message, because only streams report when the client has read them. */
function createHandler(method: GrpcMethod, deps: ServiceDeps) {
  const writeError = (error: unknown) => toGrpcError(error, deps.gateway)
  const sendResult = (result: object, call: GrpcCall, owner: string) => {
    if (call.cancelled) return
    const bytes = method.writeResult(result)
    const releaseBytes = deps.largeAnswers.reserve(bytes.length, owner)
    call.once('cancelled', releaseBytes)
    call.write(bytes, releaseBytes)
    call.end()
  }
  return async (call: GrpcCall): Promise<void> => {
    try {
      const { result, owner } = await handleCall(call, method, deps)
      if (!(result instanceof EventStream)) sendResult(result, call, owner)
      else sendGrpcStream(result, call, { writeEvent: event => method.writeResult(event), writeError })
    } catch (error) {
      call.emit('error', writeError(error))
    }
  }
}

async function handleCall(
  call: GrpcCall,
  method: GrpcMethod,
  deps: ServiceDeps,
): Promise<{ readonly result: object; readonly owner: string }> {
  const { metadata, request } = call
  const admission = deps.callerCheck.callerOf(metadata)
  const grpcCall = { method, metadata, request, from: readPeer(call.getPeer()), ...admission }
  const admittedCall = admitGrpcCall(grpcCall, deps)
  const origin = { ...grpcCall, binding: 'GRPC', request: metadata } as const
  const result = await findOperation(
    admittedCall.name,
    deps.operations,
  )(admittedCall.call).catch(error => {
    recordFailure(error, origin, deps.gateway)
    throw error
  })
  sendExtensions(call, admittedCall)
  return { result, owner: listenerKeyOf(admittedCall.call) }
}

function sendExtensions(call: GrpcCall, { extensions }: AdmittedCall): void {
  if (extensions.length === 0) return
  const metadata = new Metadata()
  metadata.set('a2a-extensions', extensions.join(', '))
  call.sendMetadata(metadata)
}

interface GrpcStreamFormat {
  writeEvent(event: WireStreamEvent): Buffer
  /** Converts an error to the status with which the call ends. */
  writeError(error: unknown): object
}

type GrpcCall = ServerWritableStream<Buffer, Buffer>

/** Sends a stream of events by a server-streaming call (A2A §10.4). The HTTP/2 pings are its heartbeat. */
function sendGrpcStream(stream: EventStream, call: GrpcCall, format: GrpcStreamFormat): void {
  let pendingBytes = 0
  let pendingEvents = 0
  let hasEnded = false

  function failCall(error: unknown): void {
    call.emit('error', format.writeError(error))
  }

  function sendBytes(bytes: Buffer): void {
    if (pendingBytes <= maxPendingBytes || pendingEvents <= minPendingEvents) {
      pendingBytes += bytes.length
      pendingEvents += 1
      call.write(bytes, () => {
        pendingBytes -= bytes.length
        pendingEvents -= 1
      })
      return
    }
    hasEnded = true
    stopStream()
    failCall(new Rejection('rate_limited', 'Cannot continue stream: the client reads too slowly'))
  }

  const stopStream = stream.start({
    send: event => {
      if (!hasEnded) sendBytes(format.writeEvent(event))
    },
    beat: () => {},
    end(error) {
      if (hasEnded) return
      hasEnded = true
      if (error === undefined) call.end()
      else failCall(error)
    },
  })
  const abandon = () => {
    hasEnded = true
    stopStream()
  }
  if (call.cancelled) abandon()
  else call.once('cancelled', abandon)
}
