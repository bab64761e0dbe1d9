import { markdownToHtml } from '../../markdown/to-html.ts'
import { countVisible } from './visible-length.ts'

/** Between paragraphs, and between lines. */
export const gaps = { block: 2, line: 1 } as const

export function countMarkdown(source: string, max: number): number {
  return countVisible(markdownToHtml(source), max)
}
