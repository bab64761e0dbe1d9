import type { ServerWritableStream } from '@grpc/grpc-js'
import { Rejection } from '@postern/core'
import type { WireStreamEvent } from '../format/wire.ts'
import type { EventStream } from '../streams/event-stream.ts'

/** Bytes that may wait for a slow client. Beyond that the stream ends. */
const maxWaiting = 1024 * 1024
/** This many events may wait whatever their size, because an answer comes twice: as an artifact and in the status after it. */
const fewEvents = 2

interface GrpcStreamFormat {
  writeEvent(event: WireStreamEvent): Buffer
  /** @returns what ends the call */
  writeError(error: unknown): object
}

export type GrpcCall = ServerWritableStream<Buffer, Buffer>

/** Sends a stream of events by a server-streaming call (A2A §10.4). HTTP/2 pings are its heartbeat. */
export function tellGrpcStream(stream: EventStream, call: GrpcCall, format: GrpcStreamFormat): void {
  let waiting = 0
  let events = 0
  let isOver = false

  function fail(error: unknown): void {
    call.emit('error', format.writeError(error))
  }

  function write(bytes: Buffer): void {
    if (waiting <= maxWaiting || events <= fewEvents) {
      waiting += bytes.length
      events += 1
      call.write(bytes, () => {
        waiting -= bytes.length
        events -= 1
      })
      return
    }
    isOver = true
    leave()
    fail(new Rejection('rate_limited', 'Cannot go on with stream: the client reads too slowly'))
  }

  const leave = stream.start({
    send: event => {
      if (!isOver) write(format.writeEvent(event))
    },
    beat: () => {},
    end(error) {
      if (isOver) return
      isOver = true
      if (error === undefined) call.end()
      else fail(error)
    },
  })
  const abandon = () => {
    isOver = true
    leave()
  }
  if (call.cancelled) abandon()
  else call.once('cancelled', abandon)
}
