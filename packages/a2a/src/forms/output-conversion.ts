// Converts texts to media types that the client accepts (A2A §3.2.2, `acceptedOutputModes`).
import { htmlToMarkdown, htmlToText } from '@postern/markup/html'
import { markdownToMailHtml } from '@postern/markup/markdown'
import { parseIfJson } from '@postern/message'
import { escapeHtml } from '@postern/message/html-characters'
import { mediaTypeOf } from '../format/part-content.ts'
import type { WireArtifact, WireMessage, WirePart, WireStreamEvent, WireTask } from '../format/wire.ts'
import { isWireStateAtRest } from '../format/wire.ts'
import type { Sink } from '../streams/sse.ts'
import { EventStream } from '../streams/sse.ts'

/** The conversion of parts to the media types that one client accepts. */
export interface OutputConversion {
  /** Returns true if the conversion changes a part. */
  changes(part: WirePart): boolean
  convertParts(parts: readonly WirePart[]): readonly WirePart[]
}

type Convert = (text: string) => WirePart | undefined

const toPlainText = (text: string): WirePart => ({ text, mediaType: 'text/plain' })
const toMarkdown = (text: string): WirePart => ({ text, mediaType: 'text/markdown' })
const toHtml = (text: string): WirePart => ({ text, mediaType: 'text/html' })

/** The conversions of a text by its media type, the closest one first. The text of data is its JSON. */
const conversionsByType: Readonly<Record<string, readonly (readonly [mediaType: string, convert: Convert])[]>> = {
  'text/markdown': [
    ['text/html', text => toHtml(markdownToMailHtml(text))],
    ['text/plain', text => toPlainText(htmlToText(markdownToMailHtml(text)).text)],
    ['application/json', parseJsonText],
  ],
  'text/html': [
    ['text/markdown', text => toMarkdown(htmlToMarkdown(text))],
    ['text/plain', text => toPlainText(htmlToText(text).text)],
  ],
  'text/plain': [
    ['text/markdown', text => toMarkdown(text.replace(/[\\`*_[\]<>#|~]/g, '\\$&'))],
    ['text/html', text => toHtml(`<p>${escapeHtml(text).replaceAll('\n', '<br>')}</p>`)],
    ['application/json', parseJsonText],
  ],
  'application/json': [
    ['text/plain', toPlainText],
    ['text/markdown', text => toMarkdown(`\`\`\`json\n${text}\n\`\`\``)],
    ['text/html', text => toHtml(`<pre><code>${escapeHtml(text)}</code></pre>`)],
  ],
}

/** Reads the text of a part with its media type. Returns undefined for files, and for data that only programs read, such as calls of tools. */
function readContent({ text, data, metadata, ...part }: WirePart): { type: string; text: string } | undefined {
  if (text !== undefined) return { type: mediaTypeOf({ ...part, text }), text }
  const { kind = 'artifact' } = (metadata?.mentionable ?? {}) as { readonly kind?: unknown }
  if (data === undefined || kind !== 'artifact') return undefined
  return { type: 'application/json', text: JSON.stringify(data, null, 2) }
}

/** Reads a text that is one JSON object or array. */
function parseJsonText(text: string): WirePart | undefined {
  const data = /^\s*[[{]/.test(text) ? parseIfJson(text) : undefined
  return data === undefined ? undefined : { data: data as never, mediaType: 'application/json' }
}

/** Chooses the conversion of texts for a client. Returns undefined if the client names no media types. */
export function chooseOutputConversion(acceptedModes: readonly string[] = []): OutputConversion | undefined {
  const modes = acceptedModes.map(mode => mode.toLowerCase().split(';')[0]?.trim() ?? '')
  if (modes.length === 0) return undefined
  // Older clients write `text` for every text type.
  const accepts = (type: string) =>
    modes.some(mode => [type, `${type.split('/')[0]}/*`, type.split('/')[0], '*/*', '*'].includes(mode))
  const conversionsOf = (part: WirePart) => {
    const content = readContent(part)
    if (!content || accepts(content.type) || accepts(mediaTypeOf(part))) return []
    const conversions = (conversionsByType[content.type] ?? []).filter(([type]) => accepts(type))
    return conversions.map(
      ([, convert]) =>
        () =>
          convert(content.text),
    )
  }
  return {
    changes: part => conversionsOf(part).length > 0,
    convertParts: parts =>
      parts.map(part => {
        for (const convert of conversionsOf(part)) {
          const { text: _, data: __, mediaType: ___, ...otherMembers } = part
          const convertedText = convert()
          if (convertedText) return { ...otherMembers, ...convertedText }
        }
        return part
      }),
  }
}

export function convertTask(task: WireTask, conversion: OutputConversion | undefined): WireTask {
  if (!conversion) return task
  const { status, artifacts } = task
  return {
    ...task,
    status: status.message ? { ...status, message: convertMessage(status.message, conversion) } : status,
    ...(artifacts && {
      artifacts: artifacts.map(artifact => ({ ...artifact, parts: conversion.convertParts(artifact.parts) })),
    }),
  }
}

export function convertMessage(message: WireMessage, conversion: OutputConversion | undefined): WireMessage {
  return conversion ? { ...message, parts: conversion.convertParts(message.parts) } : message
}

/** Returns the stream with its texts converted for the client, or the stream itself if there is no conversion. */
export function convertStream(stream: EventStream, conversion: OutputConversion | undefined): EventStream {
  return conversion ? new EventStream(sink => stream.start(createConvertingSink(sink, conversion))) : stream
}

/** Creates a sink that converts texts. The chunks of a text wait for its end, because only a complete text can be converted. */
function createConvertingSink(sink: Sink, conversion: OutputConversion): Sink {
  const pending = new Map<string, PendingArtifact>()
  const flush = (id: string) => {
    for (const { event, parts } of pending.values()) {
      const { append: _, ...update } = event.artifactUpdate
      const artifact = { ...update.artifact, parts: conversion.convertParts(parts) }
      sink.send({ artifactUpdate: { ...update, artifact, lastChunk: true } }, id)
    }
    pending.clear()
  }
  /** Stores the event until the text is complete, if it has a text to convert. Returns true if the event is stored. */
  const postpone = (event: ArtifactEvent): boolean => {
    const { artifact, append } = event.artifactUpdate
    const pendingArtifact = pending.get(artifact.artifactId)
    if (!pendingArtifact && !artifact.parts.some(conversion.changes)) return false
    const parts = append && pendingArtifact ? joinChunks(pendingArtifact.parts, artifact) : artifact.parts
    pending.set(artifact.artifactId, { event, parts })
    return true
  }
  return {
    ...sink,
    send(event, id) {
      if ('artifactUpdate' in event && postpone(event)) return
      if ('statusUpdate' in event && isWireStateAtRest(event.statusUpdate.status.state)) flush(id)
      sink.send(convertEvent(event, conversion), id)
    },
  }
}

interface PendingArtifact {
  readonly event: ArtifactEvent
  readonly parts: readonly WirePart[]
}

type ArtifactEvent = Extract<WireStreamEvent, { artifactUpdate: unknown }>

function convertEvent(event: WireStreamEvent, conversion: OutputConversion): WireStreamEvent {
  if ('task' in event) return { task: convertTask(event.task, conversion) }
  if ('message' in event) return { message: convertMessage(event.message, conversion) }
  if (!('statusUpdate' in event)) return event
  const { status } = event.statusUpdate
  if (!status.message) return event
  return {
    statusUpdate: { ...event.statusUpdate, status: { ...status, message: convertMessage(status.message, conversion) } },
  }
}

function joinChunks(
  pendingParts: readonly WirePart[],
  { parts: [firstPart, ...remaining] }: WireArtifact,
): readonly WirePart[] {
  const lastPart = pendingParts.at(-1)
  if (firstPart?.text === undefined || lastPart?.text === undefined || firstPart.mediaType !== lastPart.mediaType) {
    return firstPart ? [...pendingParts, firstPart, ...remaining] : pendingParts
  }
  return [...pendingParts.slice(0, -1), { ...lastPart, text: lastPart.text + firstPart.text }, ...remaining]
}
