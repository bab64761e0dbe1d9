import { markdownToPostHtml } from '@postern/markup/markdown'
import { countVisible } from './visible-length.ts'

/** Between paragraphs, and between lines. */
export const gaps = { block: 2, line: 1 } as const

export function countMarkdown(source: string, max: number): number {
  return countVisible(markdownToPostHtml(source), max)
}
