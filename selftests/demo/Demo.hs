-- SPDX-License-Identifier: GPL-2.0-only
-- The program that `make demo` profiles: plain GHC, lazy evaluation, a C
-- library that is called and calls back, and work for the garbage collector.
-- What is exported has a symbol; GHC leaves everything else without.
module Main
  ( main, oneRound, sortInC, byDigits, digitSum, pseudoRandom
  , wordCount, lazyTower, collatz
  ) where

import qualified Data.Map.Strict as Map
import Control.Monad (forM_)
import Data.List (foldl')
import Foreign
import Foreign.C.Types
import System.Environment (getArgs)

foreign import ccall unsafe "checksum"
  c_checksum :: Ptr CInt -> CSize -> IO CInt

foreign import ccall safe "sort_with"
  c_sort_with :: Ptr CInt -> CSize -> FunPtr Compare -> IO ()

type Compare = CInt -> CInt -> IO CInt

foreign import ccall "wrapper"
  wrapCompare :: Compare -> IO (FunPtr Compare)

-- An order that costs something, called back from C's qsort.
byDigits :: CInt -> CInt -> IO CInt
byDigits a b = return $! case compare (digitSum a) (digitSum b) of
  LT -> -1
  EQ -> 0
  GT -> 1
{-# NOINLINE byDigits #-}

digitSum :: CInt -> Int
digitSum n = go (fromIntegral n) 0
  where
    go :: Int -> Int -> Int
    go 0 acc = acc
    go m acc = go (m `quot` 10) (acc + m `rem` 10)
{-# NOINLINE digitSum #-}

-- Haskell -> C -> Haskell -> C, and an unsafe call at the end.
sortInC :: Int -> IO CInt
sortInC n = do
  compareDigits <- wrapCompare byDigits
  total <- withArrayLen (take n (pseudoRandom 42)) $ \len p -> do
    c_sort_with p (fromIntegral len) compareDigits
    c_checksum p (fromIntegral len)
  freeHaskellFunPtr compareDigits
  return $! total
{-# NOINLINE sortInC #-}

pseudoRandom :: CInt -> [CInt]
pseudoRandom = iterate (\x -> (x * 1103515245 + 12345) .&. 0x7fffffff)

-- Many small objects, most of them short-lived.
wordCount :: Int -> Int
wordCount n = Map.size counts
  where
    counts = foldl' (\m w -> Map.insertWith (+) w (1 :: Int) m) Map.empty
      (map (`mod` 5003) [1 .. n])
{-# NOINLINE wordCount #-}

-- A lazy sum: builds a tower of thunks, then climbs down.
lazyTower :: Int -> Integer
lazyTower n = foldr (\x rest -> collatz x + rest) 0 [1 .. n]
{-# NOINLINE lazyTower #-}

collatz :: Int -> Integer
collatz = go 0
  where
    go :: Integer -> Int -> Integer
    go steps 1 = steps
    go steps n = go (steps + 1) (if even n then n `quot` 2 else 3 * n + 1)
{-# NOINLINE collatz #-}

oneRound :: Int -> IO ()
oneRound i = do
  sorted <- sortInC (1500 + i)
  let counted = wordCount (40000 + i)
      climbed = lazyTower (2000 + i)
  putStrLn (show sorted ++ " " ++ show counted ++ " " ++ show climbed)
{-# NOINLINE oneRound #-}

main :: IO ()
main = do
  args <- getArgs
  let rounds = case args of
        [n] -> read n
        _ -> 20
  forM_ [1 .. rounds] oneRound
