import { expect, test } from 'vitest'
import { renderMarkdownHtml } from './markdown-html.ts'

// Row 56, on the way out: an agent may repeat what a stranger wrote.

test.each([
  ['a line of quote marks', '>'.repeat(99_000)],
  ['quote marks with spaces', '> '.repeat(49_000)],
  ['headings without end', '# a\n'.repeat(24_000)],
])('row 56: renderMarkdownHtml() reads %s in one pass', (_, markdown) => {
  const html = renderMarkdownHtml(markdown)
  expect(html.length).toBeGreaterThan(1000)
  expect(html.split('<blockquote>').length).toBeLessThan(25)
  expect(html.split('<blockquote>').length).toBe(html.split('</blockquote>').length)
})

test('renderMarkdownHtml() reads headings, what stands below them, and quotes within quotes', () => {
  expect(renderMarkdownHtml('# One\n## Two\ntext\n\n> a\n> > b')).toBe(
    '<h1>One</h1><h2>Two</h2><p>text</p>\n<blockquote><p>a<br>\n&gt; b</p></blockquote>',
  )
  expect(renderMarkdownHtml('> > b')).toBe('<blockquote><blockquote><p>b</p></blockquote></blockquote>')
})
