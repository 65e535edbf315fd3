{-# LANGUAGE UnboxedTuples, MagicHash #-}
-- Names of all kinds, and code that has none: for symbols_test.sh.
module Main (main, parse, w1, w2, (<+>), größe, step', Tree(..), table, shared1, shared2, many) where

import qualified Data.Map.Strict as M
import Data.List (foldl')

data Tree = Leaf | Tree :*: Int

infixl 5 :*:, <+>

-- Local loops and thunks.
parse :: [Int] -> Int -> Int
parse xs k = go xs 0
  where
    go [] acc = acc
    go (y : ys) acc
      | y > k = go ys (acc + length (filter (> y) later))
      | otherwise = go ys (acc + y)
      where later = map (* y) ys
{-# NOINLINE parse #-}

-- A thunk, as it stands before the function.
w1 :: Int -> Int
w1 n = case slow of (a, b) -> a + b
  where
    slow = (sum (map (\x -> x * n) [1 .. n]), total)
    total = foldl' (\a x -> a + x `mod` 7) 0 [n .. 2 * n]
{-# NOINLINE w1 #-}

w2 :: Int -> [Int]
w2 n = map (\x -> let t = expensive x in t * t) [1 .. n]
{-# NOINLINE w2 #-}

-- Not exported, used by one.
expensive :: Int -> Int
expensive x = M.foldl' (+) 0 (M.fromList [(k, k * x) | k <- [1 .. x `mod` 50]])
{-# NOINLINE expensive #-}

-- Not exported, used by two.
both :: Int -> [Int] -> Int
both k = foldr (\x r -> x * k + r `mod` 3) 1
{-# NOINLINE both #-}

shared1, shared2 :: Int -> Int
shared1 n = both n [1 .. n]
shared2 n = 1 + both (n + 1) [n, n - 1 .. 1]
{-# NOINLINE shared1 #-}
{-# NOINLINE shared2 #-}

(<+>) :: Tree -> Int -> Tree
t <+> n = foldr (\x acc -> acc :*: x) t [1 .. n]
{-# NOINLINE (<+>) #-}

größe :: Tree -> Int
größe Leaf = 0
größe (t :*: n) = n + größe t
{-# NOINLINE größe #-}

step' :: Int -> Int
step' n = parse [1 .. n] (n `div` 2) + w1 n
{-# NOINLINE step' #-}

-- A static closure that refers to local code.
table :: [Int -> Int]
table = [\x -> w1 x + 1, \x -> parse [x .. 2 * x] x, step']

-- More arguments than registers, of mixed kinds: it has a slow entry.
many :: Int -> Double -> Int -> Double -> Int -> Int -> Int -> Int -> Int
many a b c d e f g h
  | a > 1000 = truncate (b * d)
  | otherwise = many (a + c) (b + 1) e (d * 1.5) f g h a
{-# NOINLINE many #-}

main :: IO ()
main = do
  print (sum (map step' [1 .. 600]))
  print (sum (concatMap w2 [1 .. 300]))
  print (sum [f x | f <- table, x <- [1 .. 300]])
  print (größe (Leaf <+> 300000))
  print (sum (map shared1 [1 .. 1500]) + sum (map shared2 [1 .. 1500]))
  print (many 1 2 3 4 5 6 7 8)
  -- Enough for samples of all that a test looks for.
  print (sum (map w1 [1 .. 1500]))
